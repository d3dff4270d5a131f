package chain

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/exchange"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/extension/publisher"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

type parseFunc func(*parser.Input) (*parser.Output, error)

func (f parseFunc) Parse(_ context.Context, in *parser.Input) (*parser.Output, error) { return f(in) }

type parseFilterFunc func(*parsefilter.Input) (*parsefilter.Patch, error)

func (f parseFilterFunc) FilterParse(_ context.Context, in *parsefilter.Input) (*parsefilter.Patch, error) {
	return f(in)
}

func ok(title string) parseFunc {
	return func(in *parser.Input) (*parser.Output, error) {
		facts := make([]model.FactResult, len(in.Facts))
		for i, f := range in.Facts {
			facts[i].Values = []string{f.Arg}
		}
		return &parser.Output{Parses: []model.Parse{{URL: in.Content.URL, Title: title, Status: model.ParseStatus{Major: model.ParseSuccess}, Facts: facts}}}, nil
	}
}

func failed(msg string) parseFunc {
	return func(in *parser.Input) (*parser.Output, error) {
		return &parser.Output{Parses: []model.Parse{{URL: in.Content.URL, Status: model.ParseStatus{Major: model.ParseFailed, Message: msg}}}}, nil
	}
}

func broken(*parser.Input) (*parser.Output, error) { return nil, errors.New("no memory left") }

func parserPlugin(t *testing.T, id, types string, p parser.Parser) LocalPlugin {
	return local(t, simple(id, "provide \"parser\" {\n mime_types = ["+types+"]\n}", &sdk.Extensions{Parser: p}))
}

func TestParsers(t *testing.T) {
	ps := []LocalPlugin{
		parserPlugin(t, "parse-html", `"text/html"`, ok("html")),
		parserPlugin(t, "parse-bad", `"text/html", "text/bad", "text/both"`, failed("bad form")),
		parserPlugin(t, "parse-broken", `"text/broken", "text/both"`, parseFunc(broken)),
		parserPlugin(t, "parse-text", `"text/*"`, ok("text")),
		parserPlugin(t, "parse-any", `"*"`, ok("any")),
	}
	c := newLocal(t, Options{ParserTypes: map[string][]string{"text/bad": {"parse-bad"}, "text/both": {"parse-bad", "parse-broken"}, "text/broken": {"parse-broken"}, "image/*": {}}}, ps...)
	for _, tc := range []struct{ mime, parser, title, status, err string }{
		{"text/html; charset=utf-8", "parse-html", "html", "success(1,0)", ""}, // parse-bad before it failed
		{"TEXT/HTML", "parse-html", "html", "success(1,0)", ""},
		{"text/x", "parse-text", "text", "success(1,0)", ""},
		{"application/pdf", "parse-any", "any", "success(1,0)", ""},
		{"text/bad", "parse-bad", "", "failed(2,0): bad form", ""},
		{"text/both", "parse-bad", "", "failed(2,0): bad form", ""},
		{"text/broken", "parse-broken", "", "", "plugin parse-broken: no memory left"},
		{"image/png", "", "", `failed(2,203): no parser for type "image/png"`, ""},
		{"", "parse-any", "any", "success(1,0)", ""},
	} {
		r, err := c.Parse(t.Context(), &model.Content{URL: "http://a/", MIMEType: tc.mime})
		if err != nil {
			t.Fatal(err)
		}
		got := [4]string{r.Parser}
		if len(r.Parses) > 0 {
			got[1], got[2] = r.Parses[0].Title, r.Parses[0].Status.String()
		}
		if r.Err != nil {
			got[3] = r.Err.Error()
		}
		if want := [4]string{tc.parser, tc.title, tc.status, tc.err}; got != want {
			t.Errorf("%s: got %q, want %q", tc.mime, got, want)
		}
	}
}

func TestParseFilters(t *testing.T) {
	title := "changed"
	var seen []string
	filter := func(id, more string, f parseFilterFunc) LocalPlugin {
		return local(t, simple(id, "provide \"parsefilter\" {}\n"+more, &sdk.Extensions{ParseFilter: f}))
	}
	c := newLocal(t, Options{},
		parserPlugin(t, "parse-any", `"*"`, ok("first")),
		filter("parsefilter-a", "needs {\n fact \"meta\" {\n  arg = \"x\"\n }\n}", func(in *parsefilter.Input) (*parsefilter.Patch, error) {
			seen = append(seen, fmt.Sprintf("a %s %v %v", in.Parse.Title, in.Parse.Facts, in.Content != nil))
			return &parsefilter.Patch{Title: &title, AddMeta: model.Metadata{"k": {"1"}}}, nil
		}),
		filter("parsefilter-b", "needs {\n content = true\n fact \"meta\" {\n  arg = \"y\"\n }\n fact \"meta\" {\n  arg = \"x\"\n }\n}", func(in *parsefilter.Input) (*parsefilter.Patch, error) {
			seen = append(seen, fmt.Sprintf("b %s %v %v", in.Parse.Title, in.Parse.Facts, in.Content != nil))
			return &parsefilter.Patch{SetMeta: model.Metadata{"j": {"2"}}, AddMeta: model.Metadata{"k": {"3"}}, ReplaceLinks: true, Outlinks: []model.Outlink{{URL: "l"}}}, nil
		}),
		filter("parsefilter-c", "", func(in *parsefilter.Input) (*parsefilter.Patch, error) {
			seen = append(seen, fmt.Sprintf("c %s %v %v", in.Parse.Title, in.Parse.Facts, in.Content != nil))
			switch in.Parse.URL {
			case "fail":
				return &parsefilter.Patch{Fail: "vetoed"}, nil
			case "error":
				return nil, errors.New("lost")
			}
			return nil, nil
		}))
	r, err := c.Parse(t.Context(), &model.Content{URL: "u", MIMEType: "x/y"})
	if err != nil || r.Err != nil {
		t.Fatal(r, err)
	}
	if d := cmp.Diff([]string{"a first [{[] [x]}] false", "b changed [{[] [y]} {[] [x]}] true", "c changed [] false"}, seen); d != "" {
		t.Error(d)
	}
	want := model.Parse{
		URL: "u", Title: "changed", Status: model.ParseStatus{Major: model.ParseSuccess},
		Outlinks: []model.Outlink{{URL: "l"}}, ParseMeta: model.Metadata{"k": {"1", "3"}, "j": {"2"}},
	}
	if d := cmp.Diff(want, r.Parses[0]); d != "" {
		t.Error(d)
	}
	if r, err := c.Parse(t.Context(), &model.Content{URL: "fail"}); err != nil || r.Parses[0].Status.String() != "failed(2,200): vetoed" {
		t.Errorf("veto: %+v, %v", r, err)
	}
	if r, err := c.Parse(t.Context(), &model.Content{URL: "error"}); err != nil || r.Err == nil || r.Parser != "parsefilter-c" || r.Parses != nil {
		t.Errorf("failure: %+v, %v", r, err)
	}
}

// TestFactsOfSettings: the facts a filter gets are those its user's settings name.
func TestFactsOfSettings(t *testing.T) {
	var got [][]model.FactResult
	p := simple("parsefilter-a", "provide \"parsefilter\" {}\nneeds {\n fact \"selector\" {\n  setting = \"fields\"\n }\n fact \"meta\" {\n  arg = \"x\"\n }\n}\n"+
		"setting \"fields\" {\n type = \"map\"\n default = {}\n meaning = \"m\"\n}", &sdk.Extensions{ParseFilter: parseFilterFunc(func(in *parsefilter.Input) (*parsefilter.Patch, error) {
		got = append(got, in.Parse.Facts)
		return nil, nil
	})})
	for _, own := range []string{`{"fields": {"b": "h2::html", "a": "h1"}}`, `{"fields": {}}`} {
		l := local(t, p)
		l.Settings.Own = []byte(own)
		c := newLocal(t, Options{}, parserPlugin(t, "parse-any", `"*"`, ok("first")), l)
		if r, err := c.Parse(t.Context(), &model.Content{URL: "u", MIMEType: "x/y"}); err != nil || r.Err != nil {
			t.Fatal(r, err)
		}
	}
	x := model.FactResult{Values: []string{"x"}}
	want := [][]model.FactResult{{{Values: []string{"h1"}}, {Values: []string{"h2"}}, x}, {x}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	l := local(t, p)
	l.Settings.Own = []byte(`{"fields": {"b": "h2::first"}}`)
	wantErr := `setting fields of plugin parsefilter-a: selector "h2::first" ends in ::first; write ::text, ::html or ::attr(name)`
	if _, err := NewLocal([]LocalPlugin{l}, Options{}); err == nil || err.Error() != wantErr {
		t.Errorf("got %v, want %s", err, wantErr)
	}
}

// adder is a scoring filter that adds itself to everything.
type adder struct {
	scoring.Pass
	n int64
}

func (a adder) field() string { return fmt.Sprintf("f%d", a.n) }

func (a adder) Injected(_ context.Context, in []scoring.InjectInput) ([]model.Fields, error) {
	out := make([]model.Fields, len(in))
	for i := range in {
		out[i] = model.Fields{a.field(): in[i].Score + a.n, "last": a.n}
	}
	return out, nil
}

func (a adder) Distribute(_ context.Context, in []scoring.DistributeInput) ([]scoring.DistributeOutput, error) {
	out := make([]scoring.DistributeOutput, len(in))
	for i, d := range in {
		if d.URL == "fail" {
			return nil, errors.New("can't")
		}
		o := &out[i]
		o.Columns = []scoring.Column{{Field: a.field(), Values: make([]int64, len(d.Targets))}}
		o.Self = model.Fields{a.field(): int64(len(d.Text))}
		o.Drop = make([]bool, len(d.Targets))
		if len(d.Targets) >= int(a.n) {
			o.Drop[a.n-1] = true
		}
		if d.URL == "wrong" {
			o.Drop = make([]bool, len(d.Targets)+1)
		}
	}
	return out, nil
}

// Orphaned makes gone, and wants to see the record again in n seconds.
func (a adder) Orphaned(_ context.Context, in []scoring.OrphanInput) ([]scoring.OrphanOutput, error) {
	out := make([]scoring.OrphanOutput, len(in))
	for i := range in {
		out[i] = scoring.OrphanOutput{Status: model.StatusDBGone, Set: model.Fields{"n": a.n}, Again: in[i].NowUnix + a.n}
	}
	return out, nil
}

func (a adder) Score(_ context.Context, in []scoring.ScoreInput) ([]scoring.ScoreOutput, error) {
	out := make([]scoring.ScoreOutput, len(in))
	for i := range in {
		out[i] = scoring.ScoreOutput{Score: in[i].Score*10 + a.n, Sort: in[i].Sort + in[i].Fields["last"], Set: model.Fields{"last": a.n}}
	}
	return out, nil
}

func (a adder) Boost(_ context.Context, in []scoring.IndexInput) ([]float64, error) {
	out := make([]float64, len(in))
	for i := range in {
		out[i] = in[i].Boost * float64(a.n)
	}
	return out, nil
}

func TestScoring(t *testing.T) {
	sc := func(n int64, more string) LocalPlugin {
		return local(t, simple(fmt.Sprintf("scoring-%d", n), "provide \"scoring\" {}\n"+more, &sdk.Extensions{Scoring: adder{n: n}}))
	}
	c := newLocal(t, Options{},
		sc(2, "field \"f2\" {\n reducer = \"add\"\n meaning = \"Two.\"\n}"),
		sc(3, "needs {\n text = true\n}\nfield \"f3\" {\n reducer = \"max\"\n meaning = \"Three.\"\n}"))
	if d := cmp.Diff(map[string]manifest.Reducer{"f2": manifest.Add, "f3": manifest.Max}, c.Reducers()); d != "" {
		t.Error(d)
	}
	inj, errs, err := c.Injected(t.Context(), []scoring.InjectInput{{Score: 5}})
	if d := cmp.Diff([]model.Fields{{"f2": 7, "f3": 8, "last": 3}}, inj); d != "" || errs != nil || err != nil {
		t.Error(d, errs, err)
	}
	targets := make([]scoring.Target, 3)
	dis, errs, err := c.Distribute(t.Context(), []scoring.DistributeInput{{URL: "a", Text: "text", Targets: targets}, {URL: "wrong", Targets: targets}, {URL: "fail"}})
	want := Distributed{DistributeOutput: scoring.DistributeOutput{
		Columns: []scoring.Column{{Field: "f2", Values: []int64{0, 0, 0}}, {Field: "f3", Values: []int64{0, 0, 0}}},
		Self:    model.Fields{"f2": 0, "f3": 4}, Drop: []bool{false, true, true},
	}, DroppedBy: map[string]int64{"scoring-2": 1, "scoring-3": 1}}
	if d := cmp.Diff(want, dis[0]); d != "" || err != nil {
		t.Error(d, err)
	}
	if len(errs) != 3 || errs[0] != nil || errs[1] == nil || errs[2] == nil {
		t.Errorf("errors: %v", errs)
	}
	if d := cmp.Diff(Distributed{}, dis[1]); d != "" {
		t.Error(d)
	}
	sco, errs, err := c.Score(t.Context(), []scoring.ScoreInput{{Score: 1, Sort: 100, Fields: model.Fields{"last": 50}}})
	if d := cmp.Diff([]scoring.ScoreOutput{{Score: 123, Sort: 152, Set: model.Fields{"last": 3}}}, sco); d != "" || errs != nil || err != nil {
		t.Error(d, errs, err)
	}
	boo, _, err := c.Boost(t.Context(), []scoring.IndexInput{{Boost: 1}})
	if err != nil || boo[0] != 6 {
		t.Error(boo, err)
	}
	if c.JudgesOrphans() {
		t.Error("no manifest needs orphans")
	}
	judges := newLocal(t, Options{}, sc(4, ""), sc(5, "needs {\n orphans = true\n}\n"), sc(6, "needs {\n orphans = true\n}\n"))
	orp, _, err := judges.Orphaned(t.Context(), []scoring.OrphanInput{{Status: model.StatusDBFetched, NowUnix: 100}})
	if d := cmp.Diff([]scoring.OrphanOutput{{Status: model.StatusDBGone, Set: model.Fields{"n": 6}, Again: 105}}, orp); d != "" || err != nil || !judges.JudgesOrphans() {
		t.Error(d, err)
	}
	none := inProcess(t, Options{}, "urlfilter-spam")
	sco, _, err = none.Score(t.Context(), []scoring.ScoreInput{{Score: 4, Sort: 5}})
	if err != nil || sco[0].Score != 4 || sco[0].Sort != 5 {
		t.Error(sco, err)
	}
}

type indexFunc func(*indexingfilter.Input) (*indexingfilter.Patch, error)

func (f indexFunc) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	return f(in)
}

func TestFilterDocuments(t *testing.T) {
	var mu sync.Mutex
	saw := map[string]string{}
	plug := func(id, more string, f indexFunc) LocalPlugin {
		return local(t, simple(id, "provide \"indexingfilter\" {}\n"+more, &sdk.Extensions{IndexingFilter: indexFunc(func(in *indexingfilter.Input) (*indexingfilter.Patch, error) {
			mu.Lock()
			saw[id+" "+in.URL] = fmt.Sprint(len(in.Inlinks), len(in.Parse.Outlinks), in.Content != nil, in.Doc.Fields)
			mu.Unlock()
			return f(in)
		})}))
	}
	c := newLocal(t, Options{},
		plug("index-a", "needs {\n inlinks = true\n}", func(in *indexingfilter.Input) (*indexingfilter.Patch, error) {
			switch in.URL {
			case "drop":
				return &indexingfilter.Patch{Drop: "unwanted"}, nil
			case "fail":
				return nil, errors.New("lost")
			}
			return &indexingfilter.Patch{Remove: []string{"old"}, Set: map[string][]string{"k": {"1"}}, Add: map[string][]string{"t": {"b"}}}, nil
		}),
		plug("index-b", "needs {\n outlinks = true\n content = true\n}", func(in *indexingfilter.Input) (*indexingfilter.Patch, error) {
			return &indexingfilter.Patch{Add: map[string][]string{"k": {"2"}}}, nil
		}))
	if n := c.Needs(); !n.Inlinks || !n.Outlinks || !n.Content || n.Text {
		t.Errorf("needs: %+v", n)
	}
	input := func(url string) *indexingfilter.Input {
		return &indexingfilter.Input{
			URL: url, Doc: model.Document{ID: url, Fields: map[string][]string{"old": {"x"}, "t": {"a"}}},
			Parse: model.Parse{Outlinks: make([]model.Outlink, 2)}, Inlinks: make([]model.Inlink, 3), Content: &model.Content{},
		}
	}
	in := []*indexingfilter.Input{input("a"), input("drop"), input("fail")}
	got, err := c.FilterDocuments(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string][]string{"k": {"1", "2"}, "t": {"a", "b"}}, got[0].Doc.Fields); d != "" {
		t.Error(d)
	}
	if got[1].Doc != nil || got[1].Dropped != "unwanted" || got[1].Plugin != "index-a" || got[2].Err == nil || got[2].Plugin != "index-a" {
		t.Errorf("%+v %+v", got[1], got[2])
	}
	if d := cmp.Diff(input("a"), in[0]); d != "" {
		t.Errorf("the input was changed: %s", d)
	}
	want := map[string]string{
		"index-a a": "3 0 false map[old:[x] t:[a]]", "index-a drop": "3 0 false map[old:[x] t:[a]]", "index-a fail": "3 0 false map[old:[x] t:[a]]",
		"index-b a": "0 2 true map[k:[1] t:[a b]]",
	}
	if d := cmp.Diff(want, saw); d != "" {
		t.Error(d)
	}
}

type matcher struct{ params map[string]string }

func (m *matcher) Open(_ context.Context, instance string, p exchange.Params) error {
	m.params[instance] = p["id"]
	return nil
}

func (m *matcher) Match(_ context.Context, instance string, doc *model.Document) (bool, error) {
	return doc.ID == m.params[instance] || doc.ID == "all", nil
}

func TestRoute(t *testing.T) {
	p := local(t, simple("exchange-id", `provide "exchange" {}`, &sdk.Extensions{Exchange: &matcher{map[string]string{}}}))
	conf := []ExchangeConfig{
		{Name: "x", Plugin: "exchange-id", Writers: []string{"w1", "w2"}, Params: exchange.Params{"id": "a"}},
		{Name: "y", Plugin: "exchange-id", Writers: []string{"w2", "w3"}, Params: exchange.Params{"id": "b"}},
	}
	docs := []*model.Document{{ID: "a"}, {ID: "b"}, {ID: "all"}, {ID: "none"}}
	route := func(conf []ExchangeConfig) []Route {
		r, err := newLocal(t, Options{Exchanges: conf}, p).Route(t.Context(), docs)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	want := []Route{{Writers: []string{"w1", "w2"}}, {Writers: []string{"w2", "w3"}}, {Writers: []string{"w1", "w2", "w3"}}, {Default: true}}
	if d := cmp.Diff(want, route(conf)); d != "" {
		t.Error(d)
	}
	want[3] = Route{Writers: []string{"rest"}}
	if d := cmp.Diff(want, route(append(conf, ExchangeConfig{Name: "z", Plugin: "exchange-id", Writers: []string{"rest"}, Default: true}))); d != "" {
		t.Error(d)
	}
}

// gate is a publisher that waits until it is opened.
type gate struct {
	open chan struct{}
	got  []string
}

func (g *gate) Publish(_ context.Context, events []publisher.Event) error {
	<-g.open
	for _, e := range events {
		g.got = append(g.got, e.URL)
	}
	return nil
}

func TestPublish(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	c := newLocal(t, Options{EventQueue: 4}, local(t, simple("publish-gate", `provide "publisher" {}`, &sdk.Extensions{Publisher: g})))
	for i := range 50 {
		c.Publish(publisher.Event{Type: publisher.Start, URL: fmt.Sprint(i)})
	}
	close(g.open)
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Publish(publisher.Event{})
	if n := c.Counters()["publish.dropped"]; int(n)+len(g.got) != 51 || len(g.got) < 4 || g.got[0] != "0" {
		t.Errorf("%d events arrived, %d were dropped of 51", len(g.got), n)
	}
}
