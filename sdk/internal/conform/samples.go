package conform

import (
	"strings"
	"time"

	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/extension/segmentmerge"
	"github.com/gonutch/crawler/sdk/extension/urlexemption"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// sampleURLs are URLs as pages have them.
func sampleURLs() []string {
	return []string{
		"http://example.org/", "https://www.example.org/a/b.html?q=1&p=2#top", "HTTP://EXAMPLE.org:80/../x/./y//z",
		"http://example.org/image.GIF", "ftp://example.org/file", "mailto:someone@example.org", "http://[2001:db8::1]:8080/%7Euser/",
		"http://user:secret@example.org/", "http://example.org/a/a/a/a/a/a", "http://xn--bcher-kva.example/", "http://bücher.example/ä?ö",
		"http://example.org/cgi;jsessionid=0123456789", "file:///etc/passwd", "http://192.0.2.7/", "javascript:void(0)",
	}
}

// oddURLs are what strangers send.
func oddURLs() []string {
	return []string{
		"", " ", "\x00", "\xff\xfe", "http://\xff/", "http://example.org/\xc3\x28", "http://", "://", "http://example.org:99999999/",
		"http://[::1", "%", "http://example.org/%zz%", "\n\thttp://example.org/\r\n", "http://ex\u202eample.org/",
		"http://example.org/" + strings.Repeat("a/", 32<<10), strings.Repeat("?", 4096),
	}
}

func sampleLinks() []urlexemption.Pair {
	var out []urlexemption.Pair
	for _, u := range sampleURLs() {
		out = append(out, urlexemption.Pair{From: "http://example.org/", To: u}, urlexemption.Pair{From: u, To: "http://other.example/x.png"})
	}
	return out
}

func oddLinks() []urlexemption.Pair {
	var out []urlexemption.Pair
	for _, u := range oddURLs() {
		out = append(out, urlexemption.Pair{From: u, To: u})
	}
	return out
}

const samplePage = `<!doctype html><html lang="en"><head><title>A sample</title><meta name="description" content="of a page">
<link rel="canonical" href="/sample"></head><body><h1>Sample</h1><p>Some <b>words</b>.</p>
<a href="next.html">next</a> <a href="http://other.example/" rel="nofollow">other</a><img src="i.png" alt="picture"></body></html>`

func sampleTime() time.Time { return time.Unix(1_700_000_000, 0).UTC() }

func content(url, mime, body string) model.Content {
	return model.Content{
		URL: url, Base: url, Body: []byte(body), ContentType: mime, MIMEType: mime, FetchTime: sampleTime(),
		Headers: model.Metadata{"Content-Type": {mime}, "Last-Modified": {"Tue, 14 Nov 2023 22:13:20 GMT"}},
	}
}

// bodies are documents good and bad.
func bodies() []string {
	return []string{
		samplePage, "plain words\n", "", "\xff\xfe\x00<", samplePage[:200], strings.Repeat("<div>", 2000), "<?xml version=\"1.0\"?><rss><channel/></rss>",
		"\x00\x01\x02\x03", strings.Repeat("word ", 2000),
	}
}

// documents returns sample documents of the types the manifest names.
func documents(m *manifest.Manifest) []parser.Input {
	var out []parser.Input
	p, _ := m.Provided(manifest.Parser)
	for _, mime := range append(p.MIMETypes, "application/octet-stream") {
		if mime == "*" {
			mime = "text/html"
		}
		for _, b := range bodies() {
			out = append(out, parser.Input{Content: content("http://example.org/dir/page", mime, b)})
		}
	}
	return out
}

// oddDocuments are documents without what they should have.
func oddDocuments() []parser.Input {
	facts := []model.Fact{
		{Kind: model.FactMeta, Arg: "*"},
		{Kind: model.FactSelector, Arg: "a[href"},
		{Kind: "unheard of", Arg: "\xff", Max: -1},
	}
	out := []parser.Input{{}, {Facts: facts}, {Content: model.Content{URL: "\xff", Base: "\x00", ContentType: "\xff/\xff", MIMEType: "a/b;c"}}}
	c := content("http://example.org/\xff", "text/html", samplePage)
	c.Truncated = "length"
	return append(out, parser.Input{Content: c, Facts: facts[:1]})
}

func sampleParse(url string) model.Parse {
	return model.Parse{
		URL: url, Status: model.ParseStatus{Major: model.ParseSuccess}, Title: "A sample", Text: "Some words of a page. ",
		Outlinks:  []model.Outlink{{URL: "http://example.org/next", Anchor: "next", Tag: "a"}, {URL: "http://other.example/", Tag: "img"}},
		Charset:   "utf-8",
		Language:  "en",
		ParseMeta: model.Metadata{"description": {"of a page"}, "keywords": {"a", "b"}},
	}
}

func oddParse() model.Parse {
	return model.Parse{
		URL: "\xff", Status: model.ParseStatus{Major: 99, Minor: 999, Args: []string{"\xff"}}, Title: "\x00", Text: strings.Repeat("\xff", 1000),
		Outlinks: []model.Outlink{{}}, ParseMeta: model.Metadata{"": {""}, "\xff": nil},
	}
}

// parses returns inputs with as many answers as there are facts.
func parses(facts []model.Fact) (samples, odd []parsefilter.Input) {
	full, none := sampleParse("http://example.org/a"), sampleParse("http://example.org/b")
	none.Outlinks, none.ParseMeta, none.Text = nil, nil, ""
	for range facts {
		full.Facts = append(full.Facts, model.FactResult{Names: []string{"robots", "x"}, Values: []string{"noarchive", "y"}})
		none.Facts = append(none.Facts, model.FactResult{})
	}
	c := content("http://example.org/a", "text/html", samplePage)
	return []parsefilter.Input{{Parse: full, Content: &c}, {Parse: none, Content: &c}}, []parsefilter.Input{{}, {Parse: oddParse()}}
}

func sampleDatum() model.CrawlDatum {
	return model.CrawlDatum{
		Status: model.StatusDBFetched, FetchTime: sampleTime(), ModifiedTime: sampleTime(), Interval: 24 * time.Hour, Score: model.Micro,
		Signature: []byte("0123456789abcdef"), Metadata: model.Metadata{"seed": {"x"}},
	}
}

func sampleDoc(id string) model.Document {
	return model.Document{ID: id, Boost: 1, Fields: map[string][]string{
		"url": {id}, "title": {"A sample"}, "content": {"some words of a page"}, "anchor": {"next", "one"},
	}}
}

func indexInputs() (samples, odd []indexingfilter.Input) {
	for _, u := range sampleURLs()[:4] {
		p := sampleParse(u)
		c := content(u, "text/html", samplePage)
		samples = append(samples, indexingfilter.Input{
			URL: u, Doc: sampleDoc(u), Parse: p, Datum: sampleDatum(), Segment: "20231114221320",
			Headers: model.Metadata{"Content-Type": {"text/html; charset=utf-8"}, "Content-Length": {"321"}, "Last-Modified": {"Tue, 14 Nov 2023 22:13:20 GMT"}},
			Inlinks: []model.Inlink{{From: "http://other.example/", Anchor: "sample"}, {From: "http://other.example/2", Anchor: "sample"}}, Content: &c,
		})
	}
	for _, u := range oddURLs() {
		odd = append(odd, indexingfilter.Input{URL: u, Doc: model.Document{ID: u}, Headers: model.Metadata{"Content-Type": {"\xff"}, "Last-Modified": {"never"}}})
	}
	return samples, append(odd, indexingfilter.Input{Parse: oddParse(), Inlinks: []model.Inlink{{Anchor: "\xff"}}})
}

func sampleDocs() []model.Document {
	return []model.Document{sampleDoc("http://example.org/1"), sampleDoc("http://example.org/2"), {ID: "http://example.org/bare"}}
}

func oddDocs() []model.Document {
	return []model.Document{{}, {ID: "\xff", Fields: map[string][]string{"": nil, "\xff": {"\x00", ""}}, Boost: -1}}
}

func merges() (samples, odd []segmentmerge.Record) {
	p := sampleParse("http://example.org/")
	for _, u := range sampleURLs() {
		samples = append(samples, segmentmerge.Record{URL: u, FetchStatus: model.StatusFetchSuccess, Signature: []byte("0123"), Parse: &p})
	}
	for _, u := range oddURLs() {
		odd = append(odd, segmentmerge.Record{URL: u})
	}
	return samples, odd
}

// fields returns values for every score field of the manifest.
func fields(m *manifest.Manifest, value int64) model.Fields {
	f := model.Fields{}
	for _, d := range m.Fields {
		f[d.Name] = value
	}
	return f
}

func pages(m *manifest.Manifest) (samples, odd []scoring.DistributeInput) {
	targets := []scoring.Target{
		{URL: "http://example.org/next", Anchor: "next", Internal: true},
		{URL: "http://other.example/", Anchor: "", Metadata: model.Metadata{"k": {"v"}}},
		{URL: "http://third.example/", Anchor: "\xff"},
	}
	samples = []scoring.DistributeInput{
		{URL: "http://example.org/", Fields: fields(m, model.Micro), Targets: targets, AllLinks: 5, Text: "some words"},
		{URL: "http://example.org/leaf", Fields: fields(m, 3)},
		{URL: "http://example.org/new", Targets: targets[:1], AllLinks: 1, ParseMeta: model.Metadata{"k": {"v"}}, Metadata: model.Metadata{"seed": {"x"}}},
	}
	odd = []scoring.DistributeInput{{}, {URL: "\xff", Fields: model.Fields{"": -1, "\xff": 1 << 62}, Targets: make([]scoring.Target, 2), AllLinks: -1}}
	return samples, odd
}
