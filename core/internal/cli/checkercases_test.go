package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/gonutch/crawler/plugins"
	"github.com/gonutch/crawler/sdk/manifest"
)

// casesOf are the files of small cases, one for each plugin that the checkers can
// show at work: testdata/checkers/<plugin>. What stands in them:
//
//	config     HCL for the commands that follow
//	file=NAME  a rule or data file
//	filterchecker, normalizerchecker [plugin=ID] [scope=SCOPE] [v]
//	           each line is one URL
//	pages [plugin=ID] [show=(title,text,outlinks)]
//	           each line is one page; shown is what parsechecker says of its
//	           metadata, and what show names
//	documents [plugin=ID] [fields=(…)] [md=(KEY=VALUE…)]
//	           each line is one page; shown are the fields that indexchecker says
//	           would be indexed: those named, or all but the core's own
//
// A page may begin with "[Header: value | path=/x] ", and with "[url=http://…] " when
// the command says proxy: then requests for any host come to the test. Lines that begin with "# " are
// comments. The first commands of each file run the plugins as processes, as in a
// crawl; the others, for the sake of time, inside the test.
const casesOf = "testdata/checkers"

func TestCheckerCases(t *testing.T) {
	root, err := filepath.Abs(casesOf)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plugins.Builtins() {
		m, err := manifest.Read("plugin.hcl", p.Manifest)
		if err != nil {
			t.Fatal(err)
		}
		if !checkable(m) {
			continue
		}
		t.Run(m.ID, func(t *testing.T) {
			file := filepath.Join(root, m.ID)
			if _, err := os.Stat(file); err != nil {
				t.Fatalf("write %s/%s, beginning with the source of its cases; the comment of casesOf tells the form, and -rewrite fills in answers for you to review", casesOf, m.ID)
			}
			t.Chdir(t.TempDir())
			w := newCases(t, m.ID)
			datadriven.RunTest(t, file, w.run)
			if least := leastCases(m); w.cases < least && !t.Failed() {
				t.Errorf("%d cases, want %d or more", w.cases, least)
			}
		})
	}
}

// leastCases is how many cases a plugin has here. Those whose work depends on what a
// checker does not have, or a line can't hold, have the rest in their own tests.
func leastCases(m *manifest.Manifest) int {
	switch m.ID {
	case "index-anchor", "index-geoip": // inlinks, databases and addresses
		return 1
	case "parse-html", "parse-text":
		return 20
	}
	for _, p := range m.Provides {
		if p.Point != manifest.Parser {
			return 20
		}
	}
	return 1 // documents that are no text
}

// checkable reports whether a checker can show the plugin at work.
func checkable(m *manifest.Manifest) bool {
	for _, p := range m.Provides {
		switch p.Point {
		case manifest.URLFilter, manifest.URLExemption, manifest.URLNormalizer, manifest.Parser, manifest.ParseFilter, manifest.IndexingFilter:
			return true
		}
	}
	return false
}

// cases runs the commands of one file.
type cases struct {
	id     string
	config string
	pages  map[string]page
	url    string
	cases  int
	begun  []string // commands that ran
}

type page struct {
	header http.Header
	body   string
}

func newCases(t *testing.T, id string) *cases {
	w := &cases{id: id, pages: map[string]page{}}
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		p, ok := w.pages[r.URL.EscapedPath()]
		if !ok {
			http.NotFound(rw, r)
			return
		}
		maps.Copy(rw.Header(), p.header)
		_, _ = rw.Write([]byte(p.body))
	}))
	t.Cleanup(srv.Close)
	w.url = srv.URL
	return w
}

func (w *cases) run(t *testing.T, d *datadriven.TestData) string {
	var out string
	switch d.Cmd {
	case "config":
		w.config = d.Input
		return ""
	case "file":
		if err := os.WriteFile(d.CmdArgs[0].Key, []byte(d.Input+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return ""
	case "filterchecker", "normalizerchecker":
		var urls []string
		for u := range strings.SplitSeq(d.Input, "\n") {
			if !strings.HasPrefix(u, "# ") {
				urls = append(urls, u)
			}
		}
		w.cases += len(urls)
		out = w.command(t, d, strings.Join(urls, "\n")+"\n")
	case "pages":
		out = w.each(t, d, pageLine)
	case "documents":
		out = w.each(t, d, docLine)
	default:
		t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(w.url, "http://SITE", dir, "$DIR").Replace(out)
}

// command runs a checker over lines of standard input, and sees to it that each
// has its line.
func (w *cases) command(t *testing.T, d *datadriven.TestData, stdin string) string {
	if err := os.WriteFile("site.hcl", []byte(w.config), 0o600); err != nil {
		t.Fatal(err)
	}
	name := map[string]string{"pages": "parsechecker", "documents": "indexchecker"}[d.Cmd]
	if name == "" {
		name = d.Cmd
	}
	args := []string{name, "--stdin", "--config", "site.hcl", "-D", "fetcher.server_delay=0s"}
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "show", "fields":
		case "proxy":
			u, err := url.Parse(w.url)
			if err != nil {
				t.Fatal(err)
			}
			args = append(args, "-D", "http.proxy_host="+u.Hostname(), "-D", "http.proxy_port="+u.Port())
		case "v":
			args = append(args, "-v")
		default:
			for _, v := range a.Vals {
				args = append(args, "--"+a.Key, v)
			}
		}
	}
	if name != d.Cmd {
		args = append(args, "--json")
	}
	local := slices.Contains(w.begun, d.Cmd)
	w.begun = append(w.begun, d.Cmd)
	o := runApp(t, stdin, local, args...)
	if o.out == "" && o.code != ExitDone {
		_, said, _ := strings.Cut(o.err, "crawler "+name+": ")
		for _, where := range []string{"start plugin %s: configure: ", "chain: build plugin %s: "} {
			said = strings.TrimPrefix(said, fmt.Sprintf(where, w.id))
		}
		return fmt.Sprintf("exit code %d: %s", o.code, said)
	}
	if in, got := strings.Count(stdin, "\n"), strings.Count(o.out, "\n"); in != got {
		t.Errorf("%s: %d lines for %d inputs\n%s%s", d.Pos, got, in, o.out, o.err)
	}
	return o.out
}

// each serves the lines of the input as pages and shows what becomes of each.
func (w *cases) each(t *testing.T, d *datadriven.TestData, show func(*testing.T, *datadriven.TestData, []byte) string) string {
	var urls strings.Builder
	for line := range strings.Lines(d.Input) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "# ") || line == "" {
			continue
		}
		w.cases++
		path, whole := fmt.Sprintf("/%d", w.cases), ""
		p := page{header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}, body: line}
		if rest, ok := strings.CutPrefix(line, "["); ok {
			var head string
			if head, p.body, ok = strings.Cut(rest+" ", "] "); !ok {
				t.Fatalf("%s: no ] in %s", d.Pos, line)
			}
			for h := range strings.SplitSeq(head, " | ") {
				if v, ok := strings.CutPrefix(h, "path="); ok {
					path = v
				} else if v, ok := strings.CutPrefix(h, "url="); ok {
					whole = v
				} else if k, v, ok := strings.Cut(h, ": "); ok {
					p.header.Set(k, v)
				}
			}
		}
		if whole != "" {
			u, err := url.Parse(whole)
			if err != nil {
				t.Fatalf("%s: %v", d.Pos, err)
			}
			path = u.EscapedPath()
		} else {
			whole = w.url + path
		}
		before, _, _ := strings.Cut(path, "?")
		p.body = strings.TrimSuffix(p.body, " ")
		p.body = strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(p.body)
		w.pages[before] = p
		fmt.Fprintln(&urls, whole)
	}
	raw := w.command(t, d, urls.String())
	var out strings.Builder
	for s := bufio.NewScanner(strings.NewReader(raw)); s.Scan(); {
		if !strings.HasPrefix(s.Text(), "{") {
			return raw
		}
		out.WriteString(show(t, d, s.Bytes()) + "\n")
	}
	return out.String()
}

func vals(d *datadriven.TestData, key string) []string {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			return a.Vals
		}
	}
	return nil
}

// shownMeta writes multi-valued texts on one line.
func shownMeta(m map[string][]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, visible(k+"="+strings.Join(m[k], "|")))
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, "; ")
}

func pageLine(t *testing.T, d *datadriven.TestData, raw []byte) string {
	var p pageFacts
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatal(err)
	}
	if p.Error != "" {
		return "!" + visible(p.Error)
	}
	delete(p.ParseMeta, "CharEncodingForConversion")
	delete(p.ParseMeta, "OriginalCharEncoding")
	var links []string
	for _, l := range p.Outlinks {
		links = append(links, l.URL+" "+l.Anchor)
	}
	var parts []string
	for _, e := range p.Parts {
		parts = append(parts, strings.TrimSuffix(fmt.Sprintf("%s %q %s", e.URL, e.Title, shownMeta(e.ParseMeta)), " -"))
	}
	m := map[string][]string(p.ParseMeta.Clone())
	if m == nil {
		m = map[string][]string{}
	}
	for _, s := range vals(d, "show") {
		m["("+s+")"] = map[string][]string{"title": {p.Title}, "text": {p.Text}, "outlinks": links, "parts": parts, "charset": {p.Charset}, "language": {p.Language}, "robots": p.Robots}[s]
	}
	return shownMeta(m)
}

func docLine(t *testing.T, d *datadriven.TestData, raw []byte) string {
	var p docFacts
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatal(err)
	}
	switch {
	case p.Error != "":
		return "!" + visible(p.Error)
	case p.Dropped != "":
		return "dropped by " + join(p.Plugin, p.Dropped)
	}
	fields := p.Fields
	for _, k := range []string{"id", "digest", "boost"} {
		delete(fields, k)
	}
	if fields["tstamp"] != nil { // the time of the test
		fields["tstamp"] = []string{"NOW"}
	}
	if want := vals(d, "fields"); want != nil {
		fields = map[string][]string{}
		for _, k := range want {
			if v, ok := p.Fields[k]; ok {
				fields[k] = v
			}
		}
	}
	return shownMeta(fields)
}
