// This file owns how soon the kernel kills the process for want of memory
// (oom-score-adj). It must not know directives.

package server

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
)

// oomScoreFile is where Linux has the score; other systems have no such file.
const oomScoreFile = "/proc/self/oom_score_adj"

// The limits of a score.
const (
	oomScoreMin = -1000
	oomScoreMax = 1000
)

// errOOMScore is what CONFIG SET says when the kernel refuses.
const errOOMScore = configText("Failed to set current oom_score_adj. Check server logs.")

// oomScore keeps the score as the settings say.
type oomScore struct {
	file string
	log  *slog.Logger

	mu sync.Mutex
	// adjusted says that the score is ours; base is what it was before, and is
	// again when the settings leave it alone.
	adjusted bool
	base     int
}

// AdjustOOMScore sets the process's score and keeps it as CONFIG SET says. What goes
// wrong at the start is logged, as in Redis it does not stop it.
func AdjustOOMScore(c *Config, log *slog.Logger) {
	score := &oomScore{file: oomScoreFile, log: log}
	_ = score.apply(c.Settings())
	c.OnChange(score.apply, "oom-score-adj", "oom-score-adj-values")
}

func (o *oomScore) apply(settings *Settings) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.set(settings); err != nil {
		o.log.Warn("setting how soon the kernel kills the process failed", "error", err)
		return errOOMScore
	}
	return nil
}

func (o *oomScore) set(settings *Settings) error {
	if settings.OOMScoreMode == "no" {
		if !o.adjusted {
			return nil
		}
		o.adjusted = false
		return o.write(o.base)
	}
	if !o.adjusted {
		text, err := os.ReadFile(o.file)
		if err != nil {
			return err
		}
		if o.base, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
			return fmt.Errorf("reading %s: %w", o.file, err)
		}
		o.adjusted = true
	}
	score := settings.OOMScore
	if settings.OOMScoreMode != "absolute" {
		score += o.base
	}
	return o.write(min(max(score, oomScoreMin), oomScoreMax))
}

func (o *oomScore) write(score int) error {
	return os.WriteFile(o.file, []byte(strconv.Itoa(score)), 0)
}
