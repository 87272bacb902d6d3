// This file owns the directives whose values have a syntax of their own. It
// must not know what the values are used for.

package server

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"reminis/commands/quoting"
)

// A SavePoint is "after this many seconds if at least this many changes".
type SavePoint struct {
	Seconds, Changes int64
}

// bindAddressesMax is CONFIG_BINDADDR_MAX.
const bindAddressesMax = 16

// outputClassNames are in the order of the OutputClass constants.
var outputClassNames = [classCount]string{"normal", "slave", "pubsub"}

func parseDir(words []string, _ string) (value, error) {
	if len(words) != 1 {
		return value{}, errWordCount
	}
	return value{text: words[0]}, nil
}

// parseSave reads pairs of seconds and changes. One empty word is no save
// point. How several directives add up is the file reader's business.
func parseSave(words []string, _ string) (value, error) {
	if len(words) == 1 && words[0] == "" {
		words = nil
	}
	invalid := configText("Invalid save parameters")
	if len(words)%2 != 0 {
		return value{}, invalid
	}
	for i, word := range words {
		number, err := strconv.ParseInt(word, 10, 64)
		if err != nil || i%2 == 0 && number < 1 || i%2 == 1 && number < 0 {
			return value{}, invalid
		}
	}
	return value{text: strings.Join(words, " "), words: words}, nil
}

func savePoints(words []string) []SavePoint {
	points := make([]SavePoint, 0, len(words)/2)
	for i := 0; i+1 < len(words); i += 2 {
		points = append(points, SavePoint{numberOf(words[i]), numberOf(words[i+1])})
	}
	return points
}

// parseOutputLimits reads quadruples of class, hard limit, soft limit and soft
// seconds. Classes that are not named keep their limits.
func parseOutputLimits(words []string, current string) (value, error) {
	if len(words)%4 != 0 {
		return value{}, configText("Wrong number of arguments in buffer limit configuration.")
	}
	limits := strings.Fields(current)
	if len(limits) == 0 {
		limits = make([]string, 0, 4*len(outputClassNames))
		for _, name := range outputClassNames {
			limits = append(limits, name, "0", "0", "0")
		}
	}
	for i := 0; i < len(words); i += 4 {
		class := outputClass(words[i])
		if class < 0 {
			return value{}, configText("Invalid client class specified in buffer limit configuration.")
		}
		hard, ok := parseMemory(words[i+1])
		soft, softOK := parseMemory(words[i+2])
		seconds, err := strconv.ParseInt(words[i+3], 10, 64)
		if !ok || !softOK || hard < 0 || soft < 0 || err != nil || seconds < 0 {
			return value{}, configText("Error in hard, soft or soft_seconds setting in buffer limit configuration.")
		}
		limits[4*class+1] = strconv.FormatInt(hard, 10)
		limits[4*class+2] = strconv.FormatInt(soft, 10)
		limits[4*class+3] = strconv.FormatInt(seconds, 10)
	}
	return value{text: strings.Join(limits, " "), words: limits}, nil
}

// outputClass finds a class by name; replicas have two names, and "master" is
// no class that can be limited.
func outputClass(name string) int {
	name = strings.ToLower(name)
	if name == "replica" {
		name = "slave"
	}
	for class, known := range outputClassNames {
		if name == known {
			return class
		}
	}
	return -1
}

func outputLimits(words []string) [classCount]OutputLimit {
	var limits [classCount]OutputLimit
	for class := range limits {
		limits[class] = OutputLimit{
			HardBytes: numberOf(words[4*class+1]), SoftBytes: numberOf(words[4*class+2]),
			SoftSeconds: numberOf(words[4*class+3]),
		}
	}
	return limits
}

func parseOOMScores(words []string, _ string) (value, error) {
	if len(words) != 3 {
		return value{}, errWordCount
	}
	for _, word := range words {
		score, err := strconv.ParseInt(word, 10, 64)
		if err != nil || score < -2000 || score > 2000 {
			return value{}, configText("Invalid oom-score-adj-values, elements must be between -2000 and 2000.")
		}
	}
	return value{text: strings.Join(words, " "), words: words}, nil
}

// The letters of notify-keyspace-events in the order in which Redis prints
// them: those that 'A' stands for, the one that is printed beside them only
// when not all of them are there, and the rest.
const (
	eventsAll     = "g$lshzxetd"
	eventsNew     = "n"
	eventsOutside = "KEm"
)

// parseEvents reads a set of event classes. The text is Redis's form; the one
// word is the set with every letter spelt out.
func parseEvents(words []string, _ string) (value, error) {
	if len(words) != 1 {
		return value{}, errWordCount
	}
	given := strings.ReplaceAll(words[0], "A", eventsAll)
	for _, c := range given {
		if !strings.ContainsRune(eventsAll+eventsNew+eventsOutside, c) {
			return value{}, configText("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")
		}
	}
	data, added, outside := chosen(eventsAll, given), chosen(eventsNew, given), chosen(eventsOutside, given)
	full := data + added + outside
	form := full
	if data == eventsAll {
		form = "A" + outside
	}
	return value{text: form, words: []string{full}}, nil
}

// chosen returns those letters that are in given.
func chosen(letters, given string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(given, c) {
			return c
		}
		return -1
	}, letters)
}

func parseBind(words []string, _ string) (value, error) {
	if len(words) > bindAddressesMax {
		return value{}, configText("Too many bind addresses specified.")
	}
	if len(words) == 1 && words[0] == "" {
		words = nil
	}
	return value{text: strings.Join(words, " "), words: words}, nil
}

func parseReplicaOf(words []string, _ string) (value, error) {
	if len(words) == 0 {
		return value{}, nil
	}
	if len(words) != 2 {
		return value{}, errWordCount
	}
	if strings.EqualFold(words[0], "no") && strings.EqualFold(words[1], "one") {
		return value{}, nil
	}
	port, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil || port < 0 || port > 65535 {
		return value{}, configText("Invalid master port")
	}
	return value{text: strings.Join(words, " "), words: words}, nil
}

func parsePercentiles(words []string, _ string) (value, error) {
	if len(words) == 1 && words[0] == "" {
		words = nil
	}
	forms := make([]string, 0, len(words))
	for _, word := range words {
		number, err := strconv.ParseFloat(word, 64)
		if err != nil || math.IsNaN(number) {
			return value{}, configText("Invalid latency-tracking-info-percentiles parameters")
		}
		if number < 0 || number > 100 {
			return value{}, configText("latency-tracking-info-percentiles parameters should sit between [0.0,100.0]")
		}
		form := strconv.FormatFloat(number, 'f', 6, 64)
		forms = append(forms, strings.TrimSuffix(strings.TrimRight(form, "0"), "."))
	}
	return value{text: strings.Join(forms, " "), words: forms}, nil
}

func percentiles(words []string) []float64 {
	numbers := make([]float64, len(words))
	for i, word := range words {
		// The words were parsed before.
		numbers[i], _ = strconv.ParseFloat(word, 64)
	}
	return numbers
}

// numberOf reads a number that a parse has accepted.
func numberOf(word string) int64 {
	number, _ := strconv.ParseInt(word, 10, 64)
	return number
}

// notDefragmenting refuses what only a modified jemalloc can do.
func notDefragmenting(text string) error {
	if text == "yes" {
		return configText("Active defragmentation cannot be enabled: memory is compacted without it")
	}
	return nil
}

// rewriteQuoted writes a value as one word.
func rewriteQuoted(d *directive, v value, needed bool) []fileLine {
	return []fileLine{{d.name + " " + quoting.Quote(v.text), needed}}
}

// rewriteWords writes a value word by word.
func rewriteWords(d *directive, v value, needed bool) []fileLine {
	if len(v.words) == 0 {
		return rewriteQuoted(d, v, needed)
	}
	return []fileLine{{d.name + " " + strings.Join(v.words, " "), needed}}
}

// rewriteDir writes the directory in any case: the next start may be from another.
func rewriteDir(d *directive, v value, _ bool) []fileLine { return rewriteQuoted(d, v, true) }

// rewriteSave writes a line for each save point, or one that says that there are
// none; in any case, but when nobody gave one: it means something to give them.
func rewriteSave(d *directive, v value, _ bool) []fileLine {
	if len(v.words) == 0 {
		return rewriteQuoted(d, v, true)
	}
	var lines []fileLine
	for i := 0; i+1 < len(v.words); i += 2 {
		lines = append(lines, fileLine{d.name + " " + v.words[i] + " " + v.words[i+1], !v.usual})
	}
	return lines
}

// rewriteOutputLimits writes a line for each class; replicas have their newer name.
func rewriteOutputLimits(d *directive, v value, _ bool) []fileLine {
	usual := strings.Fields(d.initial)
	var lines []fileLine
	for i := 0; i+3 < len(v.words); i += 4 {
		name := strings.Replace(v.words[i], "slave", "replica", 1)
		words := []string{d.name, name, limitForm(v.words[i+1]), limitForm(v.words[i+2]), v.words[i+3]}
		lines = append(lines, fileLine{strings.Join(words, " "), !slices.Equal(v.words[i:i+4], usual[i:i+4])})
	}
	return lines
}

func limitForm(word string) string { return memoryForm(value{text: word, number: numberOf(word)}) }
