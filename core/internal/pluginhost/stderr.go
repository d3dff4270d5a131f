package pluginhost

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"
)

const (
	maxLogLine   = 64 << 10 // bytes of a line that are looked at
	maxLogText   = 2 << 10  // bytes of a text that are shown
	logBurst     = 500      // lines of one process shown at once,
	logPerSecond = 50       // and after that
)

// stderrLog turns what a plugin process prints into lines of the host's log.
// Nothing a process can print does harm: lines are cut, JSON is read field by
// field, and more than a bounded number of lines is counted instead of shown.
// It is go-plugin's ClientConfig.Stderr; its methods may be called by two
// readers at the same time.
type stderrLog struct {
	log hclog.Logger

	mu      sync.Mutex
	line    []byte // the unfinished line
	last    string // last line that was not empty
	reason  string // first line that tells of a panic
	memory  bool   // the process said that memory ran out
	tokens  float64
	filled  time.Time
	dropped int
	now     func() time.Time
}

func newStderrLog(log hclog.Logger) *stderrLog {
	return &stderrLog{log: log, tokens: logBurst, now: time.Now}
}

// Write takes any part of the output.
func (s *stderrLog) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(b)
	for len(b) > 0 {
		part, rest, ended := bytes.Cut(b, []byte{'\n'})
		if room := maxLogLine - len(s.line); room > 0 {
			s.line = append(s.line, part[:min(room, len(part))]...)
		}
		if ended {
			s.flush()
		}
		b = rest
	}
	return n, nil
}

func (s *stderrLog) flush() {
	line := bytes.TrimRight(s.line, "\r")
	if len(bytes.TrimSpace(line)) > 0 {
		s.take(line)
	}
	s.line = s.line[:0]
}

// read logs what br yields as plain lines.
func (s *stderrLog) read(br *bufio.Reader, stream string) {
	for {
		line, err := br.ReadSlice('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			s.mu.Lock()
			if s.allowed() {
				s.log.Debug("output", "stream", stream, "line", clip(string(line)))
			}
			s.mu.Unlock()
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// take handles one line; called with mu held.
func (s *stderrLog) take(line []byte) {
	if e, ok := parseEntry(line); ok {
		s.last = clip(e.message)
		if s.log.GetLevel() <= e.level && s.allowed() {
			s.log.Log(e.level, clip(e.message), e.args...)
		}
		return
	}
	text := clip(string(line))
	s.last = text
	if s.reason == "" && (strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ")) {
		s.reason = text
	}
	for _, sign := range []string{"out of memory", "cannot allocate memory", "Cannot allocate memory", "MemoryError", "OutOfMemoryError"} {
		s.memory = s.memory || strings.Contains(text, sign)
	}
	if s.log.IsDebug() && s.allowed() {
		s.log.Debug("output", "stream", "stderr", "line", text)
	}
}

// allowed takes a token; called with mu held.
func (s *stderrLog) allowed() bool {
	now := s.now()
	if !s.filled.IsZero() {
		s.tokens = min(logBurst, s.tokens+logPerSecond*now.Sub(s.filled).Seconds())
	}
	s.filled = now
	if s.tokens < 1 {
		s.dropped++
		return false
	}
	s.tokens--
	if s.dropped > 0 {
		s.log.Warn("lines left out: the plugin prints too much", "count", s.dropped)
		s.dropped = 0
	}
	return true
}

// epitaph returns what the process said last, "" when it said nothing, and
// whether that was about memory.
func (s *stderrLog) epitaph() (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	if s.dropped > 0 {
		s.log.Warn("lines left out: the plugin prints too much", "count", s.dropped)
		s.dropped = 0
	}
	if s.reason != "" {
		return s.reason, s.memory
	}
	return s.last, s.memory
}

type logEntry struct {
	level   hclog.Level
	message string
	args    []any
}

// parseEntry reads one line of hclog's JSON format. It answers false for
// whatever is not, such as JSON with a message that is no text.
func parseEntry(line []byte) (logEntry, bool) {
	if len(line) == 0 || line[0] != '{' {
		return logEntry{}, false
	}
	var raw map[string]json.RawMessage
	if json.Unmarshal(line, &raw) != nil {
		return logEntry{}, false
	}
	var e logEntry
	var level string
	if raw["@message"] == nil || json.Unmarshal(raw["@message"], &e.message) != nil ||
		raw["@level"] == nil || json.Unmarshal(raw["@level"], &level) != nil {
		return logEntry{}, false
	}
	if e.level = hclog.LevelFromString(level); e.level == hclog.NoLevel || e.level == hclog.Off {
		return logEntry{}, false
	}
	for _, k := range sortedKeys(raw) {
		if strings.HasPrefix(k, "@") || len(e.args) >= 64 {
			continue
		}
		var text string
		if json.Unmarshal(raw[k], &text) != nil {
			text = string(raw[k])
		}
		if k == "plugin" || k == "stream" {
			k = "plugin_" + k
		}
		e.args = append(e.args, clip(k), clip(text))
	}
	return e, true
}

// clip makes s fit to be shown: valid UTF-8, no control characters, bounded.
func clip(s string) string {
	cut := 0
	if len(s) > maxLogText {
		at := maxLogText
		for at > 0 && !utf8.RuneStart(s[at]) {
			at--
		}
		s, cut = s[:at], len(s)-at
	}
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if cut > 0 {
		s += fmt.Sprintf("… (%d bytes more)", cut)
	}
	return s
}

func sortedKeys(m map[string]json.RawMessage) []string { return slices.Sorted(maps.Keys(m)) }
