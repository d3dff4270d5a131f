package chaos

import (
	"context"
	"math"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/model"
)

// batch misbehaves for a batch and answers each item that is left.
func batch[I, O any](ctx context.Context, c *plugin, point string, in []I, of func(I) string, answer func(i int, p plan) O) ([]O, []error, error) {
	urls := make([]string, len(in))
	for i := range in {
		urls[i] = of(in[i])
	}
	p, err := c.act(ctx, point, urls)
	if err != nil {
		return nil, nil, err
	}
	out := make([]O, max(p.answers, len(in)))
	for i := range in {
		out[i] = answer(i, p)
	}
	return out[:p.answers], p.errs, nil
}

// hugeAt returns the huge text for the first item.
func (p plan) hugeAt(i int) string {
	if i == 0 {
		return p.huge
	}
	return ""
}

type filter struct{ c *plugin }

func (f filter) FilterURL(ctx context.Context, url string) (urlfilter.Verdict, error) {
	return urlfilter.Verdict{Accept: true}, nil
}

func (f filter) FilterURLs(ctx context.Context, urls []string) ([]urlfilter.Verdict, []error, error) {
	return batch(ctx, f.c, "urlfilter", urls, func(u string) string { return u }, func(i int, p plan) urlfilter.Verdict {
		return urlfilter.Verdict{Accept: !p.nonsense[i], Reason: p.hugeAt(i)}
	})
}

type normalizer struct{ c *plugin }

func (n normalizer) NormalizeURL(_ context.Context, _ urlnormalizer.Scope, url string) (urlnormalizer.Result, error) {
	return urlnormalizer.Result{URL: url}, nil
}

func (n normalizer) NormalizeURLs(ctx context.Context, _ urlnormalizer.Scope, urls []string) ([]urlnormalizer.Result, []error, error) {
	return batch(ctx, n.c, "urlnormalizer", urls, func(u string) string { return u }, func(i int, p plan) urlnormalizer.Result {
		if p.nonsense[i] {
			return urlnormalizer.Result{URL: "no url \xff\x00 at all"}
		}
		return urlnormalizer.Result{URL: urls[i], Reason: p.hugeAt(i)}
	})
}

type pages struct{ c *plugin }

func (g pages) Parse(_ context.Context, in *parser.Input) (*parser.Output, error) {
	return &parser.Output{Parses: []model.Parse{parse(&in.Content, len(in.Facts))}}, nil
}

func (g pages) ParseDocuments(ctx context.Context, in []*parser.Input) ([]*parser.Output, []error, error) {
	of := func(d *parser.Input) string { return d.Content.URL }
	return batch(ctx, g.c, "parser", in, of, func(i int, p plan) *parser.Output {
		doc := parse(&in[i].Content, len(in[i].Facts))
		if p.nonsense[i] {
			doc = model.Parse{
				URL: "\xff", Status: model.ParseStatus{Major: 77, Minor: 7777, Args: []string{"\x00"}}, Text: "\xff\xfe",
				Outlinks: make([]model.Outlink, 100_000), ParseMeta: model.Metadata{"": {""}},
			}
		}
		doc.Text += p.hugeAt(i)
		return &parser.Output{Parses: []model.Parse{doc}}
	})
}

var ( // compiled once; never changed
	titleRE = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
	linkRE  = regexp.MustCompile(`(?is)<a\s[^>]*href\s*=\s*["']?([^"'>\s]+)[^>]*>(.*?)</a>`)
	tagRE   = regexp.MustCompile(`(?s)<[^>]*>`)
)

// parse reads plain HTML well enough for a test site.
func parse(c *model.Content, facts int) model.Parse {
	body := string(c.Body)
	p := model.Parse{URL: c.URL, Status: model.ParseStatus{Major: model.ParseSuccess}, Charset: "utf-8", Facts: make([]model.FactResult, facts)}
	if m := titleRE.FindStringSubmatch(body); m != nil {
		p.Title = strings.TrimSpace(m[1])
	}
	base := c.Base
	if base == "" {
		base = c.URL
	}
	for _, m := range linkRE.FindAllStringSubmatch(body, -1) {
		if u, ok := resolve(base, m[1]); ok {
			p.Outlinks = append(p.Outlinks, model.Outlink{URL: u, Anchor: strings.TrimSpace(tagRE.ReplaceAllString(m[2], " ")), Tag: "a"})
		}
	}
	p.Text = strings.Join(strings.Fields(tagRE.ReplaceAllString(body, " ")), " ")
	return p
}

func resolve(base, ref string) (string, bool) {
	b, err := url.Parse(base)
	if err != nil {
		return "", false
	}
	u, err := b.Parse(ref)
	if err != nil {
		return "", false
	}
	return u.String(), true
}

type parseFilter struct{ c *plugin }

func (f parseFilter) FilterParse(context.Context, *parsefilter.Input) (*parsefilter.Patch, error) {
	return nil, nil
}

func (f parseFilter) FilterParses(ctx context.Context, in []*parsefilter.Input) ([]*parsefilter.Patch, []error, error) {
	of := func(d *parsefilter.Input) string { return d.Parse.URL }
	return batch(ctx, f.c, "parsefilter", in, of, func(i int, p plan) *parsefilter.Patch {
		out := &parsefilter.Patch{}
		if s := p.hugeAt(i); s != "" {
			out.Text = &s
		}
		if p.nonsense[i] {
			out.SetMeta, out.Outlinks, out.ReplaceLinks = model.Metadata{"\xff": {"\x00"}}, make([]model.Outlink, 100_000), true
		}
		return out
	})
}

type indexingFilter struct{ c *plugin }

func (f indexingFilter) FilterDocument(context.Context, *indexingfilter.Input) (*indexingfilter.Patch, error) {
	return nil, nil
}

func (f indexingFilter) FilterDocuments(ctx context.Context, in []*indexingfilter.Input) ([]*indexingfilter.Patch, []error, error) {
	of := func(d *indexingfilter.Input) string { return d.URL }
	return batch(ctx, f.c, "indexingfilter", in, of, func(i int, p plan) *indexingfilter.Patch {
		out := &indexingfilter.Patch{}
		if s := p.hugeAt(i); s != "" {
			out.Add = map[string][]string{"huge": {s}}
		}
		if p.nonsense[i] {
			out.Remove, out.Set = []string{"url", "title", "\xff"}, map[string][]string{"": {""}, "\xff": {"\x00"}, "content": nil}
		}
		return out
	})
}

// fetcher serves chaos: URLs, each a page that links to two others.
type fetcher struct{ c *plugin }

func (f fetcher) Fetch(ctx context.Context, req *protocol.Request) (*protocol.Response, error) {
	start := time.Now()
	p, err := f.c.act(ctx, "protocol", []string{req.URL})
	if err != nil {
		return nil, err
	}
	if p.errs != nil {
		return nil, p.errs[0]
	}
	rest, ok := strings.CutPrefix(req.URL, "chaos://")
	if !ok || rest == "" || rest[0] >= 0x80 || rest[0] <= ' ' {
		return &protocol.Response{URL: req.URL, Status: model.ProtocolStatus{Code: model.ProtocolNotFound}, FetchTime: start}, nil
	}
	r := &protocol.Response{
		URL: req.URL, Status: model.ProtocolStatus{Code: model.ProtocolSuccess, HTTP: 200}, ContentType: "text/html", Protocol: "chaos", FetchTime: start,
		Headers: model.Metadata{"Content-Type": {"text/html"}},
		Body:    []byte("<title>" + rest + "</title><a href=\"" + req.URL + "/a\">a</a> <a href=\"" + req.URL + "/b\">b</a>" + p.huge),
	}
	if p.nonsense[0] {
		r.Status, r.RetryAfter = model.ProtocolStatus{Code: 99, Message: "\xff", HTTP: -1}, math.MaxInt64
	}
	// A huge body is sent whatever the limit says.
	if req.MaxBytes > 0 && int64(len(r.Body)) > req.MaxBytes && p.huge == "" {
		r.Body, r.Truncated = r.Body[:req.MaxBytes], "length"
	}
	r.Elapsed = time.Since(start)
	return r, nil
}

// scorer changes no score. Its errors are those of the whole call, since a
// scoring call has no errors of items.
type scorer struct{ c *plugin }

func scores[I, O any](ctx context.Context, c *plugin, in []I, of func(I) string, answer func(i int, p plan) O) ([]O, error) {
	out, errs, err := batch(ctx, c, "scoring", in, of, answer)
	for _, e := range errs {
		if e != nil {
			return nil, e
		}
	}
	return out, err
}

func (s scorer) Injected(ctx context.Context, in []scoring.InjectInput) ([]model.Fields, error) {
	return scores(ctx, s.c, in, func(d scoring.InjectInput) string { return d.URL }, func(i int, p plan) model.Fields {
		return nonsenseFields(p, i)
	})
}

// nonsenseFields sets a field that no manifest knows.
func nonsenseFields(p plan, i int) model.Fields {
	if p.nonsense[i] {
		return model.Fields{"chaos": math.MinInt64, "\xff": math.MaxInt64}
	}
	return nil
}

func (s scorer) Distribute(ctx context.Context, in []scoring.DistributeInput) ([]scoring.DistributeOutput, error) {
	return scores(ctx, s.c, in, func(d scoring.DistributeInput) string { return d.URL }, func(i int, p plan) scoring.DistributeOutput {
		return scoring.DistributeOutput{Self: nonsenseFields(p, i)}
	})
}

func (s scorer) Score(ctx context.Context, in []scoring.ScoreInput) ([]scoring.ScoreOutput, error) {
	return scores(ctx, s.c, in, func(d scoring.ScoreInput) string { return d.URL }, func(i int, p plan) scoring.ScoreOutput {
		return scoring.ScoreOutput{Score: in[i].Score, Sort: in[i].Sort, Set: nonsenseFields(p, i)}
	})
}

func (s scorer) Orphaned(ctx context.Context, in []scoring.OrphanInput) ([]scoring.OrphanOutput, error) {
	return scores(ctx, s.c, in, func(d scoring.OrphanInput) string { return d.URL }, func(i int, p plan) scoring.OrphanOutput {
		out := scoring.OrphanOutput{Set: nonsenseFields(p, i)}
		if p.nonsense[i] {
			out.Status = 200
		}
		return out
	})
}

func (s scorer) Boost(ctx context.Context, in []scoring.IndexInput) ([]float64, error) {
	return scores(ctx, s.c, in, func(d scoring.IndexInput) string { return d.URL }, func(i int, p plan) float64 {
		if p.nonsense[i] {
			return math.NaN()
		}
		return in[i].Boost
	})
}

// The batch forms are the ones that are called.
var (
	_ urlfilter.Batch      = filter{}
	_ urlnormalizer.Batch  = normalizer{}
	_ parser.Batch         = pages{}
	_ parsefilter.Batch    = parseFilter{}
	_ indexingfilter.Batch = indexingFilter{}
	_ scoring.Filter       = scorer{}
	_ protocol.Protocol    = fetcher{}
)
