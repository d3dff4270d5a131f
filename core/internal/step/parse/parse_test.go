package parse

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/signature"
	"github.com/gonutch/crawler/sdk/extension/urlexemption"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/model"
)

// plugins are chains with simple rules: fragments go, "drop" in a URL drops it,
// "fail" fails, "long" makes it longer, "exempt" is exempt.
type plugins struct {
	parse  func(*model.Content) (*chain.ParseResult, error)
	err    error
	judged int // URLs that came to the filters
}

func (p *plugins) Parse(_ context.Context, c *model.Content) (*chain.ParseResult, error) {
	return p.parse(c)
}

func (p *plugins) NormalizeFilter(_ context.Context, scope urlnormalizer.Scope, urls []string) ([]chain.URLResult, error) {
	if scope != urlnormalizer.ScopeOutlink {
		return nil, fmt.Errorf("scope %q", scope)
	}
	p.judged += len(urls)
	out := make([]chain.URLResult, len(urls))
	for i, u := range urls {
		out[i].URL, _, _ = strings.Cut(u, "#")
		switch {
		case strings.Contains(u, "drop"):
			out[i] = chain.URLResult{Dropped: true, Plugin: "urlfilter-test", Reason: "rule 1"}
		case strings.Contains(u, "fail"):
			out[i] = chain.URLResult{Err: errors.New("boom")}
		case strings.Contains(u, "long"):
			out[i].URL += strings.Repeat("%20", 100)
		}
	}
	return out, p.err
}

func (p *plugins) Exempt(_ context.Context, pairs []urlexemption.Pair) ([]bool, error) {
	out := make([]bool, len(pairs))
	for i := range pairs {
		out[i] = strings.Contains(pairs[i].To, "exempt")
	}
	return out, nil
}

func newParser(t *testing.T, p *plugins, change func(*Config)) *Parser {
	t.Helper()
	cfg := Config{StoreText: true, MaxText: -1, Signature: signature.Config{Name: "md5"}, Links: LinkRules{MaxPerPage: -1, MaxLength: 200}}
	if change != nil {
		change(&cfg)
	}
	parser, err := New(cfg, p)
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

const from = "http://www.a.com/page"

func TestOutlinks(t *testing.T) {
	for name, c := range map[string]struct {
		rules func(*LinkRules)
		links string // separated by spaces
		want  string
		drops map[string]int64
	}{
		"all":            {links: "http://b.com/1 http://a.com/2", want: "http://b.com/1 http://a.com/2"},
		"normalized":     {links: "http://b.com/1#x", want: "http://b.com/1"},
		"duplicates":     {links: "http://b.com/1 http://b.com/1#x http://b.com/2", want: "http://b.com/1 http://b.com/2", drops: map[string]int64{DropDuplicate: 1}},
		"self":           {links: from + " " + from + "#top", drops: map[string]int64{DropSelf: 2}},
		"object storage": {links: "s3://docs/a S3://x/ http://b.com/1", want: "http://b.com/1", drops: map[string]int64{DropS3: 2}},
		"local files":    {links: "file:///etc/passwd FILE:/x http://b.com/1", want: "http://b.com/1", drops: map[string]int64{DropFile: 2}},
		"filtered":       {links: "http://b.com/drop http://b.com/1", want: "http://b.com/1", drops: map[string]int64{"urlfilter-test": 1}},
		"plugin fails":   {links: "http://b.com/fail http://b.com/1", want: "http://b.com/1", drops: map[string]int64{DropError: 1}},
		"too long":       {links: "http://b.com/" + strings.Repeat("x", 200), drops: map[string]int64{DropLength: 1}},
		"grown too long": {links: "http://b.com/long", drops: map[string]int64{DropLength: 1}},
		"no length limit": {
			rules: func(r *LinkRules) { r.MaxLength = -1 },
			links: "http://b.com/" + strings.Repeat("x", 200), want: "http://b.com/" + strings.Repeat("x", 200),
		},
		"limit counts those accepted": {
			rules: func(r *LinkRules) { r.MaxPerPage = 2 },
			links: "http://b.com/drop http://b.com/1 http://b.com/1 http://b.com/2 http://b.com/3", want: "http://b.com/1 http://b.com/2",
			drops: map[string]int64{"urlfilter-test": 1, DropDuplicate: 1, DropLimit: 1},
		},
		"no links wanted": {rules: func(r *LinkRules) { r.MaxPerPage = 0 }, links: "http://b.com/1 http://b.com/2", drops: map[string]int64{DropLimit: 2}},
		"external": {
			rules: func(r *LinkRules) { r.IgnoreExternal = true },
			links: "http://www.a.com/1 http://a.com/2 http://b.com/3 http://b.com/exempt", want: "http://www.a.com/1 http://b.com/exempt",
			drops: map[string]int64{DropExternal: 2},
		},
		"external by domain": {
			rules: func(r *LinkRules) { r.IgnoreExternal, r.ByDomain = true, true },
			links: "http://www.a.com/1 http://a.com/2 http://b.com/3", want: "http://www.a.com/1 http://a.com/2", drops: map[string]int64{DropExternal: 1},
		},
		"internal": {
			rules: func(r *LinkRules) { r.IgnoreInternal = true },
			links: "http://www.a.com/1 http://a.com/2 http://b.com/3", want: "http://a.com/2 http://b.com/3", drops: map[string]int64{DropInternal: 1},
		},
		"internal by domain, letter case": {
			rules: func(r *LinkRules) { r.IgnoreInternal, r.ByDomain = true, true },
			links: "http://WWW.A.com/1 http://a.com/2 http://b.com/3", want: "http://b.com/3", drops: map[string]int64{DropInternal: 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newParser(t, &plugins{}, func(cfg *Config) {
				if c.rules != nil {
					c.rules(&cfg.Links)
				}
			})
			var in []model.Outlink
			for u := range strings.FieldsSeq(c.links) {
				in = append(in, model.Outlink{URL: u, Anchor: "x", Tag: "a"})
			}
			links, drops, err := p.Outlinks(t.Context(), from, in)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range links {
				got = append(got, l.URL)
				if l.Anchor != "x" || l.Tag != "a" {
					t.Errorf("%+v", l)
				}
			}
			if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.drops, drops); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestOutlinksOfLargePage: a page with very many links costs only what its limit is
// worth, and every link is accounted for.
func TestOutlinksOfLargePage(t *testing.T) {
	pl := &plugins{}
	p := newParser(t, pl, func(c *Config) { c.Links.MaxPerPage = 100 })
	in := make([]model.Outlink, 50_000)
	for i := range in {
		in[i].URL = fmt.Sprintf("http://b.com/%d", i)
	}
	links, drops, err := p.Outlinks(t.Context(), from, in)
	if err != nil {
		t.Fatal(err)
	}
	if len(links) != 100 || drops[DropLimit] != 49_900 || pl.judged > 300 {
		t.Errorf("%d links, dropped %v, %d judged", len(links), drops, pl.judged)
	}
	pl.err = errors.New("no plugin any more")
	if _, _, err := p.Outlinks(t.Context(), from, in); !errors.Is(err, pl.err) {
		t.Errorf("error %v", err)
	}
}

func TestRedirect(t *testing.T) {
	external := func(also bool) func(*Config) {
		return func(c *Config) { c.Links.IgnoreExternal, c.Links.AlsoRedirects = true, also }
	}
	for _, c := range []struct {
		target, want, dropped string
		change                func(*Config)
	}{
		{target: "http://b.com/1#x", want: "http://b.com/1"},
		{target: from + "#x", dropped: DropSelf},
		{target: "http://b.com/drop", dropped: "urlfilter-test"},
		{target: "http://b.com/fail", dropped: DropError},
		{target: "http://b.com/long", dropped: DropLength},
		{target: "http://b.com/1", change: external(false), want: "http://b.com/1"},
		{target: "http://b.com/1", change: external(true), dropped: DropExternal},
		{target: "http://b.com/exempt", change: external(true), want: "http://b.com/exempt"},
	} {
		got, dropped, err := newParser(t, &plugins{}, c.change).Redirect(t.Context(), from, c.target)
		if err != nil || got != c.want || dropped != c.dropped {
			t.Errorf("%s: %q, dropped %q, %v; want %q, %q", c.target, got, dropped, err, c.want, c.dropped)
		}
	}
}

func TestParse(t *testing.T) {
	good := func(*model.Content) (*chain.ParseResult, error) {
		return &chain.ParseResult{Parser: "parse-test", Parses: []model.Parse{{
			Status: model.ParseStatus{Major: model.ParseSuccess}, Title: "t", Text: "äöü words",
			Outlinks: []model.Outlink{{URL: "http://b.com/1"}, {URL: "http://b.com/drop"}},
		}}}, nil
	}
	content := func() *model.Content {
		return &model.Content{URL: from, Base: from, Body: []byte("body"), MIMEType: "text/html"}
	}
	t.Run("good", func(t *testing.T) {
		p := newParser(t, &plugins{parse: good}, func(c *Config) { c.MaxText = 5 })
		got, err := p.Parse(t.Context(), content())
		if err != nil {
			t.Fatal(err)
		}
		want := &segment.Parsed{
			Status: model.ParseStatus{Major: model.ParseSuccess}, Title: "t", Text: "äöü w", Base: from, AllLinks: 2, Parser: "parse-test",
			ContentMeta: model.Metadata{"Content-Type": {"text/html"}}, Outlinks: []segment.Link{{URL: "http://b.com/1"}},
			Dropped: map[string]int64{"urlfilter-test": 1}, Signature: signature.Compute(signature.Config{Name: "md5"}, from, []byte("body"), ""),
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
	t.Run("truncated content is parsed and flagged", func(t *testing.T) {
		p := newParser(t, &plugins{parse: good}, nil)
		in := content()
		in.Truncated = "length"
		got, err := p.Parse(t.Context(), in)
		if err != nil || !got.Status.OK() || got.Text == "" || got.ParseMeta.First("parse.truncated") != "content.length" {
			t.Errorf("%+v %v", got, err)
		}
	})
	t.Run("links that the parser dropped are counted", func(t *testing.T) {
		p := newParser(t, &plugins{parse: func(c *model.Content) (*chain.ParseResult, error) {
			r, err := good(c)
			r.Parses[0].ParseMeta = model.Metadata{"outlinks.dropped.length": {"3"}, "outlinks.dropped.limit": {"4"}, "outlinks.dropped.unusable": {"5"}}
			return r, err
		}}, nil)
		got, err := p.Parse(t.Context(), content())
		if err != nil || got.AllLinks != 9 {
			t.Errorf("%+v %v", got, err)
		}
		if d := cmp.Diff(map[string]int64{"urlfilter-test": 1, DropLength: 3, DropLimit: 4}, got.Dropped); d != "" {
			t.Error(d)
		}
	})
	t.Run("text not stored", func(t *testing.T) {
		p := newParser(t, &plugins{parse: good}, func(c *Config) { c.StoreText = false })
		if got, err := p.Parse(t.Context(), content()); err != nil || got.Text != "" || len(got.Outlinks) != 1 {
			t.Errorf("%+v %v", got, err)
		}
	})
	for name, c := range map[string]struct {
		result    *chain.ParseResult
		truncated string
		want      model.ParseMinor
	}{
		"poisonous":      {result: &chain.ParseResult{Parser: "parse-test", Err: errors.New("it died")}, want: model.ParseFailedException},
		"empty answer":   {result: &chain.ParseResult{Parser: "parse-test"}, want: model.ParseFailedException},
		"truncated":      {truncated: "length", want: model.ParseFailedTruncated},
		"parser says so": {result: &chain.ParseResult{Parses: []model.Parse{{Status: model.ParseStatus{Major: model.ParseFailed, Minor: model.ParseFailedTruncated}, Outlinks: []model.Outlink{{URL: "http://b.com/1"}}}}}, want: model.ParseFailedTruncated},
	} {
		t.Run(name, func(t *testing.T) {
			p := newParser(t, &plugins{parse: func(*model.Content) (*chain.ParseResult, error) { return c.result, nil }}, func(cfg *Config) { cfg.SkipTruncated = true })
			in := content()
			in.Truncated = c.truncated
			got, err := p.Parse(t.Context(), in)
			if err != nil || got.Status.OK() || got.Status.Minor != c.want || len(got.Outlinks) != 0 || got.ContentMeta.First("Content-Type") != "text/html" || got.Signature == nil {
				t.Errorf("%+v %v", got, err)
			}
		})
	}
	t.Run("no parser any more", func(t *testing.T) {
		boom := errors.New("boom")
		p := newParser(t, &plugins{parse: func(*model.Content) (*chain.ParseResult, error) { return nil, boom }}, nil)
		if _, err := p.Parse(t.Context(), content()); !errors.Is(err, boom) {
			t.Errorf("error %v", err)
		}
	})
	if _, err := New(Config{Signature: signature.Config{Name: "nonsense"}}, nil); err == nil {
		t.Error("an unknown signature was accepted")
	}
}
