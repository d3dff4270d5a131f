package testweb

import (
	"fmt"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
)

const (
	vocabulary  = 6000 // generated words
	textBlocks  = 1024 // precomputed paragraphs
	blockLength = 480  // bytes, about
)

// text is the raw material of all pages, made once per web and never changed.
type text struct {
	words  []string
	blocks [][]byte
}

// newText makes words of syllables and paragraphs of words, common words more often than rare ones.
func newText(seed uint64) text {
	r := stream(seed, saltVocabulary, 0, 0)
	onset := strings.Fields("b c d f g h j k l m n p r s t v w br ch cl dr fl gr pl pr sh sl st th tr")
	rhyme := strings.Fields("a e i o u ai an ar ea el en er in ir on oo or un ur")
	pick := func(from []string) string { return from[r.below(int32(len(from)))] }
	t := text{words: strings.Fields("the of and to in is that it was for on are as with his they at be this from have or by one had not but what all were")}
	seen := make(map[string]bool, vocabulary)
	for _, word := range t.words {
		seen[word] = true
	}
	for len(t.words) < vocabulary {
		word := pick(onset) + pick(rhyme)
		for range 1 + r.below(3) {
			word += pick(onset) + pick(rhyme)
		}
		if !seen[word] {
			seen[word] = true
			t.words = append(t.words, word)
		}
	}
	for range textBlocks {
		var b []byte
		for len(b) < blockLength {
			b = t.sentence(b, &r)
		}
		t.blocks = append(t.blocks, b)
	}
	return t
}

func (t *text) word(r *rng) string { return t.words[r.skewed(int32(len(t.words)))] }

func (t *text) sentence(dst []byte, r *rng) []byte {
	if len(dst) > 0 {
		dst = append(dst, ' ')
	}
	start := len(dst)
	for i := range 6 + r.below(12) {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, t.word(r)...)
	}
	dst[start] -= 'a' - 'A'
	return append(dst, '.')
}

// fill appends paragraphs between before and after until dst has length, exactly unless it is too long already.
func (t *text) fill(dst []byte, length int, r *rng, before, after string) []byte {
	for {
		rest := length - len(dst) - len(before) - len(after)
		if rest <= 0 {
			break
		}
		block := t.blocks[r.below(textBlocks)]
		dst = append(dst, before...)
		dst = append(dst, block[:min(len(block), rest)]...)
		dst = append(dst, after...)
	}
	for len(dst) < length {
		dst = append(dst, '\n')
	}
	return dst
}

// Word is the word that only page number n holds (and its byte-equal duplicates, which
// hold their original's instead of their own).
func Word(n int) string { return fmt.Sprintf("zq%dx", n) }

// HostWord is the word that every HTML and text page of host h holds.
func HostWord(h int) string { return fmt.Sprintf("hq%dx", h) }

// charset is an encoding that pages come in.
type charset struct {
	name  string
	wide  bool   // not a superset of ASCII: the whole page must be encoded
	bom   string // in UTF-8
	word  string // in its own script, in UTF-8
	block string // paragraph in its own script, beginning with word; encoded unless wide
}

// declaration is how a page tells its charset.
type declaration uint8

const (
	byHeader     declaration = iota // Content-Type only
	byMeta                          // <meta charset> only
	byBOM                           // byte order mark only, where there is one
	byBoth                          // Content-Type, and a <meta charset> that is wrong: the header wins
	notByAny                        // UTF-8 pages that need no telling: header and meta
	declarations = int32(byBoth) + 1
)

// newCharsets returns the encodings, UTF-8 first.
func newCharsets(seed uint64) ([]charset, error) {
	out := []charset{{name: "utf-8", bom: "\ufeff"}}
	for _, c := range [...]struct{ name, letters string }{
		{"windows-1252", "àéèüöñßøåçâîôûabdelmnorst"},
		{"iso-8859-2", "łśżźćńčřžšěůaeoiulmnrst"},
		{"windows-1251", "абвгдежзийклмнопрстуфхцчшщыэюя"},
		{"koi8-r", "абвгдежзийклмнопрстуфхцчшщыэюя"},
		{"shift_jis", "あいうえおかきくけこさしすせそたちつてとなにぬねのアイウエオカキクケコ"},
		{"euc-jp", "はひふへほまみむめもやゆよらりるれろわハヒフヘホマミムメモ"},
		{"euc-kr", "가나다라마바사아자차카타파하고노도로모보소오조초코토포호"},
		{"gb18030", "天地人山水火木金土日月年时分中国大小上下左右前后东西南北"},
		{"big5", "天地人山水火木金土日月年時分中國大小上下左右前後東西南北"},
		{"utf-16le", "αβγδεζηθικλμνξοπρστυφχψω"},
	} {
		e, err := htmlindex.Get(c.name)
		if err != nil {
			return nil, fmt.Errorf("charset %s: %w", c.name, err)
		}
		r := stream(seed, saltVocabulary, 1, int32(len(out)))
		letters := []rune(c.letters)
		word := func(n int32) string {
			var b strings.Builder
			for range n {
				b.WriteRune(letters[r.below(int32(len(letters)))])
			}
			return b.String()
		}
		cs := charset{name: c.name, word: word(7)}
		words := []string{cs.word}
		for range 40 {
			words = append(words, word(2+r.below(5)))
		}
		cs.block = strings.Join(words, " ")
		if cs.name == "utf-16le" {
			cs.wide, cs.bom = true, "\ufeff"
		} else if cs.block, err = e.NewEncoder().String(cs.block); err != nil {
			return nil, fmt.Errorf("charset %s: %w", c.name, err)
		}
		out = append(out, cs)
	}
	return out, nil
}

// CharsetWord returns a word that every page in the named charset holds, in the
// script of that charset, and whether the web has the charset.
func (w *Web) CharsetWord(name string) (string, bool) {
	for _, c := range w.charsets {
		if c.name == name && c.word != "" {
			return c.word, true
		}
	}
	return "", false
}
