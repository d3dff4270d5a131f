package schedule

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/gonutch/crawler/sdk/model"
)

// Rates say how an interval adapts: × (1+Inc) when the page did not change,
// × (1−Dec) when it did.
type Rates struct{ Inc, Dec float64 }

// contentType is the key of a record's metadata with the type of its last content;
// the state machine keeps it.
const contentType = "Content-Type"

// rates returns those for the record's type of content (Nutch's
// MimeAdaptiveFetchSchedule).
func (s Schedule) rates(d model.CrawlDatum) Rates {
	if s.cfg.Name == MIMEAdaptive {
		mime, _, _ := strings.Cut(d.Metadata.First(contentType), ";")
		if r, ok := s.cfg.MIMERates[strings.ToLower(strings.TrimSpace(mime))]; ok {
			return r
		}
	}
	return Rates{s.cfg.IncRate, s.cfg.DecRate}
}

// DefaultMIMERates returns the table that Nutch ships as adaptive-mimetypes.txt.
func DefaultMIMERates() map[string]Rates {
	return map[string]Rates{"text/html": {0.2, 0.2}, "application/xhtml+xml": {0.2, 0.2}, "application/pdf": {0.1, 0.4}}
}

// ReadMIMERates reads a file in the form of Nutch's adaptive-mimetypes.txt: on each line
// a type, its increase rate and its decrease rate, separated by tabs or spaces. Blank
// lines and those that start with # don't count. All faults are reported, each with
// name and line.
func ReadMIMERates(name string, r io.Reader) (map[string]Rates, error) {
	out := map[string]Rates{}
	var errs []error
	sc := bufio.NewScanner(r)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(strings.TrimPrefix(sc.Text(), "\ufeff"))
		if line == "" || line[0] == '#' {
			continue
		}
		mime, rates, err := mimeLine(line)
		if _, twice := out[mime]; err == nil && twice {
			err = fmt.Errorf("%s is there twice", mime)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", name, n, err))
			continue
		}
		out[mime] = rates
	}
	if err := sc.Err(); err != nil {
		errs = append(errs, fmt.Errorf("%s: %w", name, err))
	}
	return out, errors.Join(errs...)
}

func mimeLine(line string) (mime string, r Rates, err error) {
	f := strings.Fields(line)
	if len(f) != 3 || !strings.Contains(f[0], "/") {
		return "", r, fmt.Errorf("%.80q: want a type, its increase rate and its decrease rate, such as text/html 0.2 0.2", line)
	}
	inc, err1 := strconv.ParseFloat(f[1], 64)
	dec, err2 := strconv.ParseFloat(f[2], 64)
	switch {
	case err1 != nil || !(inc >= 0) || math.IsInf(inc, 0):
		return "", r, fmt.Errorf("increase rate %q: want a number from 0 on", f[1])
	case err2 != nil || !(dec >= 0 && dec < 1):
		return "", r, fmt.Errorf("decrease rate %q: want a number in [0,1)", f[2])
	}
	return strings.ToLower(f[0]), Rates{inc, dec}, nil
}
