package parse

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/sdk/model"
)

func ok(url, title, text string, links ...string) model.Parse {
	p := model.Parse{URL: url, Status: model.ParseStatus{Major: model.ParseSuccess}, Title: title, Text: text}
	for _, l := range links {
		p.Outlinks = append(p.Outlinks, model.Outlink{URL: l})
	}
	return p
}

// boxes parses a toy archive: "[name|body][name|body]" has members, anything else
// is a text whose words with "://" are links. "bad" can't be parsed.
func boxes(c *model.Content) (*chain.ParseResult, error) {
	body := string(c.Body)
	switch {
	case strings.HasPrefix(body, "["):
		r := &chain.ParseResult{Parses: []model.Parse{ok(c.URL, "", "")}, Parser: "parse-box"}
		depth, start := 0, 0
		for i, ch := range body {
			switch ch {
			case '[':
				if depth++; depth == 1 {
					start = i + 1
				}
			case ']':
				if depth--; depth == 0 {
					name, inner, _ := strings.Cut(body[start:i], "|")
					r.Members = append(r.Members, model.Content{URL: c.URL + "#" + name, Body: []byte(inner)})
				}
			}
		}
		return r, nil
	case body == "bad":
		return &chain.ParseResult{Parses: []model.Parse{{Status: model.ParseStatus{Major: model.ParseFailed, Message: "no good"}}}}, nil
	case body == "secret":
		p := ok(c.URL, "", "secret")
		p.Robots.NoIndex = true
		return &chain.ParseResult{Parses: []model.Parse{p}}, nil
	}
	var links []string
	for w := range strings.FieldsSeq(body) {
		if strings.Contains(w, "://") {
			links = append(links, w)
		}
	}
	return &chain.ParseResult{Parses: []model.Parse{ok(c.URL, "", body, links...)}, Parser: "parse-text"}, nil
}

func TestMembers(t *testing.T) {
	const page = "http://a.com/x.zip"
	for name, c := range map[string]struct {
		body      string
		rules     PartRules
		status    string
		title     string
		text      string
		links     string
		parts     string
		drops     map[string]int64
		documents bool
	}{
		"one": {
			body: "[r.txt|hello http://b.com/]", title: "r.txt", text: "r.txt\nhello http://b.com/", links: "http://b.com/",
		},
		"several, in order": {body: "[d/1.txt|one][2.txt|two]", text: "1.txt\none\n2.txt\ntwo"},
		"as documents": {
			body: "[d/1.txt|one http://b.com/][2.txt|two]", documents: true, links: "http://b.com/",
			parts: page + "#d/1.txt " + page + "#2.txt",
		},
		"nested": {body: "[i|[1|one][2|two]][3|three]", text: "1\none\n2\ntwo\n3\nthree"},
		"too deep": {
			body: "[a|[b|[c|[d|deep]]]]", status: "failed(2,200): documents are nested deeper than parser.members_depth allows",
			drops: map[string]int64{DropPartDepth: 1},
		},
		"partly too deep": {body: "[a|[b|[c|[d|deep][e|deep]]]][f|flat]", title: "f", text: "f\nflat", drops: map[string]int64{DropPartDepth: 2}},
		"all bad": {
			body: "[a|bad][b|bad]", status: "failed(2,200): a: no good", drops: map[string]int64{DropPartFailed: 2},
		},
		"one bad":   {body: "[a|bad][b|fine]", title: "b", text: "b\nfine", drops: map[string]int64{DropPartFailed: 1}},
		"too many":  {body: "[a|1][b|2][c|3]", rules: PartRules{Max: 2, Depth: 3, Bytes: 100}, text: "a\n1\nb\n2", drops: map[string]int64{DropPartLimit: 1}},
		"too big":   {body: "[a|123456][b|123456][c|1]", rules: PartRules{Max: 9, Depth: 3, Bytes: 10}, text: "a\n123456\nc\n1", drops: map[string]int64{DropPartSize: 1}},
		"noindex":   {body: "[a|secret][b|fine]", title: "b", text: "b\nfine", drops: map[string]int64{DropPartNoIndex: 1}},
		"twice":     {body: "[a|1][a|2]", documents: true, parts: page + "#a", drops: map[string]int64{DropPartURL: 1}},
		"long name": {body: "[" + strings.Repeat("n", 300) + "|1][b|2]", documents: true, parts: page + "#b", drops: map[string]int64{DropPartURL: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newParser(t, &plugins{parse: boxes}, func(cfg *Config) {
				cfg.Parts = PartRules{Max: 100, Depth: 3, Bytes: 1000}
				if c.rules.Max > 0 {
					cfg.Parts = c.rules
				}
				cfg.Parts.Members = MembersText
				if c.documents {
					cfg.Parts.Members = MembersDocuments
				}
			})
			got, err := p.Parse(t.Context(), &model.Content{URL: page, MIMEType: "application/zip", Body: []byte(c.body)})
			if err != nil {
				t.Fatal(err)
			}
			if c.status == "" {
				c.status = "success(1,0)"
			}
			var links, parts []string
			for _, l := range got.Outlinks {
				links = append(links, l.URL)
			}
			for _, x := range got.Parts {
				parts = append(parts, x.URL)
				if len(x.Signature) == 0 || x.Text == "" || x.ContentMeta.First("Content-Type") == "" || x.ParseMeta.First(MetaPart) == "" {
					t.Errorf("part %+v", x)
				}
			}
			if got.Status.String() != c.status || got.Title != c.title || got.Text != c.text || strings.Join(links, " ") != c.links || strings.Join(parts, " ") != c.parts {
				t.Errorf("status %s, title %q, text %q, links %v, parts %v", got.Status, got.Title, got.Text, links, parts)
			}
			if d := cmp.Diff(c.drops, got.Dropped); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestMemberSeesNoBase: a file in an archive has no place that relative links could be
// resolved against.
func TestMemberSeesNoBase(t *testing.T) {
	var base, mime string
	p := newParser(t, &plugins{parse: func(c *model.Content) (*chain.ParseResult, error) {
		if strings.Contains(c.URL, "#") {
			base, mime = c.Base, c.MIMEType
		}
		return boxes(c)
	}}, func(cfg *Config) { cfg.Parts = PartRules{Members: MembersText, Max: 9, Depth: 1, Bytes: 1000} })
	if _, err := p.Parse(t.Context(), &model.Content{URL: "http://a.com/x.zip", Base: "http://a.com/", Body: []byte("[i.html|words]")}); err != nil {
		t.Fatal(err)
	}
	if base != "about:blank" || mime != "text/html" {
		t.Errorf("base %q, type %q", base, mime)
	}
}

func TestEntries(t *testing.T) {
	const feed = "http://www.a.com/feed"
	p := newParser(t, &plugins{parse: func(*model.Content) (*chain.ParseResult, error) {
		failed := model.Parse{URL: feed + "#failed", Status: model.ParseStatus{Major: model.ParseFailed}}
		return &chain.ParseResult{Parser: "feed", Parses: []model.Parse{
			ok(feed, "Feed", "", "http://www.a.com/1"),
			ok("http://www.a.com/1#top", "One", "first"),
			ok("http://blog.a.com/2", "Two", "second", "http://www.a.com/2b"),
			ok("http://evil.com/3", "Your bank", "send money"),
			ok(feed+"#guid", "Four", "fourth"),
			ok("http://www.a.com/drop", "Five", "fifth"), ok("http://www.a.com/1", "One again", ""), failed, ok(feed, "itself", ""),
		}}, nil
	}}, func(cfg *Config) { cfg.Parts = PartRules{Max: 10} })
	got, err := p.Parse(t.Context(), &model.Content{URL: feed, MIMEType: "application/rss+xml", Body: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, x := range got.Parts {
		parts = append(parts, x.URL+" "+x.Title+" "+x.Text)
	}
	want := []string{"http://www.a.com/1 One first", "http://blog.a.com/2 Two second", feed + "#guid Four fourth"}
	if d := cmp.Diff(want, parts); d != "" {
		t.Error(d)
	}
	if len(got.Outlinks) != 2 || got.AllLinks != 2 {
		t.Errorf("links %v of %d", got.Outlinks, got.AllLinks)
	}
	if d := cmp.Diff(map[string]int64{DropPartElsewhere: 1, DropPartURL: 3, DropPartFailed: 1}, got.Dropped); d != "" {
		t.Error(d)
	}
}
