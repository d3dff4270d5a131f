package scoringsimilarity

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/sdk/model"
)

const (
	// maxWords is how many words of a text are compared.
	maxWords = 1 << 20
	maxNgram = 5
)

// terms makes term vectors of texts.
type terms struct {
	stop     map[string]bool
	min, max int // words in a term
}

// newTerms reads ngrams as "min,max" and stop words, one a line.
func newTerms(ngrams string, stop *librule.Lines) (*terms, error) {
	t := &terms{stop: map[string]bool{}}
	low, high, _ := strings.Cut(ngrams, ",")
	var err1, err2 error
	t.min, err1 = strconv.Atoi(strings.TrimSpace(low))
	t.max, err2 = strconv.Atoi(strings.TrimSpace(high))
	if err1 != nil || err2 != nil || t.min < 1 || t.max < t.min || t.max > maxNgram {
		return nil, fmt.Errorf("ngrams = %q: want the shortest and the longest number of words, such as \"1,2\", from 1 to %d", ngrams, maxNgram)
	}
	var errs []error
	for _, l := range stop.Lines {
		if l.Empty() {
			continue
		}
		words := strings.FieldsFunc(strings.ToLower(l.Text), between)
		if len(words) == 0 {
			errs = append(errs, l.Errorf("%q: want a stop word", l.Text))
		}
		for _, w := range words { // several where texts are split too, as don't
			t.stop[w] = true
		}
	}
	return t, errors.Join(errs...)
}

// between says that r stands between words, which are runs of letters, marks and
// digits.
func between(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }

// vector holds how often each term stands in a text.
type vector map[string]int64

func (t *terms) vector(text string) vector {
	v := vector{}
	var words []string
	n := 0
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), between) {
		if n++; n > maxWords {
			break
		}
		if t.stop[w] {
			continue
		}
		if words = append(words, w); len(words) > t.max {
			words = words[1:]
		}
		for k := t.min; k <= len(words); k++ {
			v[strings.Join(words[len(words)-k:], " ")]++
		}
	}
	return v
}

// square is the square of the vector's length.
func (v vector) square() int64 {
	var sum int64
	for _, n := range v {
		sum += n * n
	}
	return sum
}

// cosine is the cosine of the angle between a and b in micro-units, 0 when one
// of them is empty. Sums are whole numbers, so that the order of terms can't
// change it.
func cosine(a, b vector) int64 {
	if len(a) > len(b) {
		a, b = b, a
	}
	var dot int64
	for term, n := range a {
		dot += n * b[term]
	}
	if dot == 0 {
		return 0
	}
	c := float64(dot) / (math.Sqrt(float64(a.square())) * math.Sqrt(float64(b.square())))
	return min(int64(math.Round(c*model.Micro)), model.Micro)
}
