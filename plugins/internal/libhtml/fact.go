package libhtml

import (
	"bytes"
	"iter"
	"strings"

	"github.com/andybalholm/cascadia"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

// Bounds on facts: values of one fact when it names no maximum, bytes of all
// facts of a page, selectors kept compiled.
const (
	maxFactValues   = 1000
	maxFactBytes    = 1 << 20
	maxKeptSelector = 1000
)

// factSink gathers what facts other than selectors need.
type factSink struct {
	wantRel, wantHeading, wantScript bool

	rels     []rawRel
	openRel  int // the a element open in rels, or -1
	headings []rawHeading
	open     []int // headings not closed yet, innermost last
	scripts  []rawScript
}

type rawRel struct {
	rel, href  []byte
	start, end int // text
}

type rawHeading struct {
	id         elem
	start, end int
}

type rawScript struct {
	typ  []byte
	src  bool
	body []byte
}

func (f *factSink) reset(facts []model.Fact) {
	*f = factSink{openRel: -1}
	for _, want := range facts {
		switch want.Kind {
		case model.FactRel:
			f.wantRel = true
		case model.FactHeading:
			f.wantHeading = true
		case model.FactScript, model.FactJSONLD:
			f.wantScript = true
		}
	}
}

// rel reports a link with rel; it returns whether it was kept.
func (f *factSink) rel(rel, href []byte, at int) bool {
	if !f.wantRel || len(rel) == 0 || len(f.rels) >= maxFactValues*10 {
		return false
	}
	f.rels = append(f.rels, rawRel{rel: rel, href: href, start: at, end: at})
	return true
}

func (f *factSink) endRel(at int) {
	if f.openRel >= 0 {
		f.rels[f.openRel].end = at
		f.openRel = -1
	}
}

func (f *factSink) openHeading(id elem, at int) {
	if f.wantHeading {
		f.open = append(f.open, len(f.headings))
		f.headings = append(f.headings, rawHeading{id: id, start: at, end: at})
	}
}

func (f *factSink) closeHeading(at int) {
	if n := len(f.open); n > 0 {
		f.headings[f.open[n-1]].end = at
		f.open = f.open[:n-1]
	}
}

func (f *factSink) script(typ []byte, src bool, body []byte) {
	if len(f.scripts) < maxFactValues*10 {
		f.scripts = append(f.scripts, rawScript{typ: typ, src: src, body: body})
	}
}

// selectors compiles the selectors among facts, by index; nil when there are
// none.
func (x *Extractor) selectors(facts []model.Fact) ([]cascadia.SelectorGroup, error) {
	var out []cascadia.SelectorGroup
	for i, f := range facts {
		if err := checkFact(f); err != nil {
			return nil, err
		}
		if f.Kind != model.FactSelector {
			continue
		}
		sel, err := x.compile(f.Arg)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = make([]cascadia.SelectorGroup, len(facts))
		}
		out[i] = sel
	}
	return out, nil
}

func (x *Extractor) compile(text string) (cascadia.SelectorGroup, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if sel, ok := x.selector[text]; ok {
		return sel, nil
	}
	sel, err := cascadia.ParseGroup(text)
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "CSS selector %q: %w", text, err)
	}
	if len(x.selector) < maxKeptSelector {
		x.selector[text] = sel
	}
	return sel, nil
}

// factBudget hands out what facts may still take.
type factBudget struct{ bytes int }

// add appends a value within f's limits; false means that f is full.
func (b *factBudget) add(f model.Fact, r *model.FactResult, name, value string) bool {
	limit := maxFactValues
	if f.Max > 0 && f.Max < limit {
		limit = f.Max
	}
	if len(r.Values) >= limit || len(name)+len(value) > b.bytes {
		return false
	}
	b.bytes -= len(name) + len(value)
	if name != "" {
		r.Names = append(r.Names, name)
	}
	r.Values = append(r.Values, value)
	return true
}

// answers evaluates facts; p has everything but its facts.
func (s *sink) answers(facts []model.Fact, p *Page, text string, r *resolver) []model.FactResult {
	if len(facts) == 0 {
		return nil
	}
	budget := &factBudget{bytes: maxFactBytes}
	out := make([]model.FactResult, len(facts))
	for i, f := range facts {
		switch f.Kind {
		case model.FactMeta:
			s.metaFact(f, p, budget, &out[i])
		case model.FactHeading:
			id := lookupElem([]byte(f.Arg))
			for _, h := range s.facts.headings {
				if h.id == id && !budget.add(f, &out[i], "", flat(text, h.start, h.end)) {
					break
				}
			}
		case model.FactRel:
			s.relFact(f, budget, &out[i], text, r)
		case model.FactJSONLD, model.FactScript:
			s.scriptFact(f, budget, &out[i])
		case model.FactSelector:
			if s.selectorHits != nil {
				out[i] = s.selectorHits[i]
			}
		}
	}
	return out
}

func (s *sink) metaFact(f model.Fact, p *Page, budget *factBudget, out *model.FactResult) {
	want := strings.ToLower(f.Arg)
	for _, m := range p.Metas {
		for _, name := range []string{m.Name, m.Property, m.HTTPEquiv} {
			if name == "" || want != "*" && name != want {
				continue
			}
			if !budget.add(f, out, name, m.Content) {
				return
			}
		}
	}
}

func (s *sink) relFact(f model.Fact, budget *factBudget, out *model.FactResult, text string, r *resolver) {
	want := strings.ToLower(f.Arg)
	for _, l := range s.facts.rels {
		for tok := range fields(l.rel) {
			if !foldEqual(tok, want) {
				continue
			}
			href, ok := r.absolute(nil, clean(l.href))
			if !ok {
				href = l.href
			}
			if len(href) > 0 && !budget.add(f, out, string(href), flat(text, l.start, l.end)) {
				return
			}
			break
		}
	}
}

// scriptFact answers jsonld (bodies of ld+json scripts) and script (bodies of
// inline scripts: of JavaScript, or of the MIME type Arg).
func (s *sink) scriptFact(f model.Fact, budget *factBudget, out *model.FactResult) {
	want := strings.ToLower(f.Arg)
	if f.Kind == model.FactJSONLD {
		want = "application/ld+json"
	}
	for _, sc := range s.facts.scripts {
		typ, _, _ := strings.Cut(strings.ToLower(string(bytes.TrimSpace(sc.typ))), ";")
		switch {
		case sc.src, want != "" && typ != want, want == "" && !isJavaScript(typ):
			continue
		}
		if !budget.add(f, out, "", newlines(string(sc.body))) {
			return
		}
	}
}

func isJavaScript(typ string) bool {
	return typ == "" || typ == "module" || strings.HasSuffix(typ, "javascript") || strings.HasSuffix(typ, "ecmascript")
}

// newlines writes CR and CRLF as LF.
func newlines(s string) string {
	if !strings.Contains(s, "\r") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// flat returns text[start:end] without separators around it and on one line.
func flat(text string, start, end int) string {
	if end <= start {
		return ""
	}
	t := strings.Trim(text[start:end], " \n")
	if strings.IndexByte(t, '\n') < 0 {
		return t
	}
	return strings.ReplaceAll(t, "\n", " ")
}

// fields iterates over the tokens of a rel attribute.
func fields(b []byte) iter.Seq[[]byte] { return bytes.FieldsSeq(b) }

func lowerASCII(b []byte) string { return strings.ToLower(string(b)) }

// checkFact reports what is wrong with a fact, before any page is parsed.
func checkFact(f model.Fact) error {
	switch f.Kind {
	case model.FactMeta, model.FactJSONLD, model.FactScript, model.FactSelector:
		return nil
	case model.FactRel:
		if f.Arg != "" {
			return nil
		}
	case model.FactHeading:
		if id := lookupElem([]byte(f.Arg)); id >= eH1 && id <= eH6 {
			return nil
		}
	}
	return fault.Errorf(fault.Invalid, "fact %s %q: no such kind or argument", f.Kind, f.Arg)
}
