package main

// This file owns how results are shown and recorded. It must not know how they
// were measured.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// figure is one metric of both sides, round by round.
type figure struct {
	scenario string
	depth    int // 0: not applicable
	metric   string
	values   [2][]float64
}

func (f *figure) add(side int, value float64) { f.values[side] = append(f.values[side], value) }

// ratios returns ours to theirs, round by round; none where theirs is 0.
func (f *figure) ratios() []float64 {
	var ratios []float64
	for i := range min(len(f.values[0]), len(f.values[1])) {
		if f.values[1][i] != 0 {
			ratios = append(ratios, f.values[0][i]/f.values[1][i])
		}
	}
	return ratios
}

// median returns the middle of the values, of an even number the mean of the two
// in the middle, and 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// report prints figures, and appends them to files if there is a directory.
type report struct {
	out       io.Writer
	directory string // "": nothing is recorded
	now       func() time.Time
	shown     bool // the versions were
}

func (r *report) figure(scenario string, depth int, metric string) *figure {
	return &figure{scenario: scenario, depth: depth, metric: metric}
}

// versions prints what is compared, once.
func (r *report) versions(sides [2]*side) error {
	if r.shown {
		return nil
	}
	r.shown = true
	for i, s := range sides {
		redis, err := s.infoText("redis_version")
		if err != nil {
			return err
		}
		own, err := s.infoText("reminis_version")
		if err != nil && !errors.Is(err, errNotReported) {
			return err
		}
		if own != "" {
			own = "reminis " + own + ", "
		}
		fmt.Fprintf(r.out, "%s: %sredis_version %s\n", sideNames[i], own, redis)
	}
	fmt.Fprintf(r.out, "machine: %d processors, %s/%s, driver built by %s\n", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	return nil
}

// show prints the figures of one measurement and records them.
func (r *report) show(s scenario, depth int, figures ...*figure) error {
	title := s.name
	if depth > 0 {
		title += " " + pipelineLabel(depth)
	}
	fmt.Fprintf(r.out, "\n%s: %s (%s)\n", title, s.summary, quoted(s.flags))
	fmt.Fprintf(r.out, "    %-30s %14s %14s  %s\n", "metric", "ours", "peer", "ours/peer: median [min .. max]")
	for _, f := range figures {
		if isZero(f) {
			continue // neither server reports it
		}
		fmt.Fprintf(r.out, "    %-30s %14s %14s  %s\n", f.metric, number(median(f.values[0])), number(median(f.values[1])), spread(f.ratios()))
	}
	return r.record(figures)
}

func isZero(f *figure) bool {
	nonZero := func(v float64) bool { return v != 0 }
	return !slices.ContainsFunc(f.values[0], nonZero) && !slices.ContainsFunc(f.values[1], nonZero)
}

func quoted(flags []string) string {
	shown := slices.Clone(flags)
	for i, flag := range shown {
		if flag == "" {
			shown[i] = `""`
		}
	}
	return strings.Join(shown, " ")
}

// number shows large figures without and small ones with decimals.
func number(v float64) string {
	if v >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

func spread(ratios []float64) string {
	if len(ratios) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f [%.2f .. %.2f]", median(ratios), slices.Min(ratios), slices.Max(ratios))
}

// columns are the fields of a recorded line. Lines are only ever appended, so
// columns may be added at the end and never changed.
const columns = "date\tscenario\tpipeline\tmetric\tours\ttheirs\tratio_median\tratio_min\tratio_max\n"

// record appends one line per figure to the scenario's file.
func (r *report) record(figures []*figure) error {
	if r.directory == "" {
		return nil
	}
	for _, f := range figures {
		if isZero(f) {
			continue
		}
		path := filepath.Join(r.directory, f.scenario+".tsv")
		_, err := os.Stat(path)
		text := ""
		if errors.Is(err, os.ErrNotExist) {
			text = columns
		}
		if err := appendFile(path, text+f.row(r.now())); err != nil {
			return fmt.Errorf("recording %s: %w", f.metric, err)
		}
	}
	return nil
}

// row is a figure as one line; a ratio that does not exist is "-".
func (f *figure) row(now time.Time) string {
	fields := []string{
		now.UTC().Format(time.RFC3339), f.scenario, strconv.Itoa(f.depth), f.metric,
		number(median(f.values[0])), number(median(f.values[1])), "-", "-", "-",
	}
	if ratios := f.ratios(); len(ratios) > 0 {
		for i, v := range []float64{median(ratios), slices.Min(ratios), slices.Max(ratios)} {
			fields[6+i] = strconv.FormatFloat(v, 'f', 3, 64)
		}
	}
	return strings.Join(fields, "\t") + "\n"
}

func appendFile(path, text string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}
