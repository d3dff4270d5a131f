// Package signature owns the functions that tell whether two fetches of a page
// brought the same content: Nutch's MD5Signature, TextMD5Signature and
// TextProfileSignature. They are pure. The package must not know records, the
// store or configuration files.
//
// MD5 stays because signatures are compared with those imported from Nutch; a page
// that forges a collision harms only its own deduplication.
package signature

import (
	"cmp"
	"crypto/md5"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Names of the signatures, for Config.Name.
const (
	MD5         = "md5"          // of the raw bytes
	TextMD5     = "text-md5"     // of the parsed text
	TextProfile = "text-profile" // of the text's frequent words, so that small changes don't show
)

// Config holds the settings; comments name the Nutch property.
type Config struct {
	Name string // one of the names above (db.signature.class)
	// The rest is for TextProfile (db.signature.text_profile.*).
	MinTokenLen int     // words must be longer than this, in characters
	QuantRate   float64 // counts are rounded down to multiples of this share of the highest
	SecSortLex  bool    // words of equal count in text order, not in the order of first use
}

// DefaultConfig returns Nutch's defaults.
func DefaultConfig() Config {
	return Config{Name: MD5, MinTokenLen: 2, QuantRate: 0.01, SecSortLex: true}
}

// Validate returns every fault of c, joined, or nil.
func (c Config) Validate() error {
	var errs []error
	if !slices.Contains([]string{MD5, TextMD5, TextProfile}, c.Name) {
		errs = append(errs, fmt.Errorf("signature %q: want %q, %q or %q", c.Name, MD5, TextMD5, TextProfile))
	}
	if c.MinTokenLen < 0 {
		errs = append(errs, fmt.Errorf("text profile: minimum token length %d: must not be negative", c.MinTokenLen))
	}
	if !(c.QuantRate >= 0 && c.QuantRate <= 1) {
		errs = append(errs, fmt.Errorf("text profile: quantisation rate %v: must be in [0,1]", c.QuantRate))
	}
	return errors.Join(errs...)
}

// Compute returns the 16-byte signature of a page by c, which must be valid.
// An empty text falls back to the raw bytes, and an empty body to url. The
// arguments are only read.
func Compute(c Config, url string, body []byte, text string) []byte {
	switch c.Name {
	case TextMD5:
		if text != "" {
			return sum([]byte(text))
		}
	case TextProfile:
		if text != "" {
			return sum([]byte(profile(c, text)))
		}
	}
	if len(body) == 0 {
		return sum([]byte(url))
	}
	return sum(body)
}

func sum(b []byte) []byte {
	s := md5.Sum(b) //nolint:gosec // see the package comment
	return s[:]
}

type token struct {
	text         string
	count, first int
}

// profile returns the word list that stands for text: runs of letters and
// digits in lower case, with their counts rounded down, most frequent first.
func profile(c Config, text string) string {
	counts := map[string]int{} // index in tokens
	var tokens []token
	highest := 0
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		word = strings.ToLower(word)
		if n := len([]rune(word)); n <= c.MinTokenLen {
			continue
		}
		i, known := counts[word]
		if !known {
			i = len(tokens)
			counts[word] = i
			tokens = append(tokens, token{text: word, first: i})
		}
		tokens[i].count++
		highest = max(highest, tokens[i].count)
	}
	quant := int(math.Round(float64(highest) * c.QuantRate))
	if quant < 2 {
		quant = 1
		if highest > 1 {
			quant = 2
		}
	}
	kept := tokens[:0]
	for _, t := range tokens {
		if t.count = t.count / quant * quant; t.count >= quant {
			kept = append(kept, t)
		}
	}
	slices.SortFunc(kept, func(a, b token) int {
		if c.SecSortLex {
			return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.text, b.text))
		}
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.first, b.first))
	})
	var b strings.Builder
	for i, t := range kept {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(t.text)
		b.WriteByte(' ')
		b.WriteString(strconv.Itoa(t.count))
	}
	return b.String()
}
