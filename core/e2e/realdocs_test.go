package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/model"
)

// docs is documentation as a distribution ships it, served under a host name.
type docs struct {
	host, dir, start string
	pkg              string // Debian package
	robots           string
	pages            int // that can be reached, at least
}

func shortDocs() []docs {
	return []docs{
		{
			host: "pg.test", dir: "/usr/share/doc/postgresql-doc-15/html", start: "index.html", pkg: "postgresql-doc-15", pages: 1000,
			robots: "User-agent: *\nDisallow: /ecpg-\nDisallow: /release-prior\n",
		},
		{host: "git.test", dir: "/usr/share/doc/git/html", start: "git.html", pkg: "git-doc", pages: 150},
	}
}

func longDocs() []docs {
	return append(shortDocs(),
		docs{host: "boost.test", dir: "/usr/share/doc/libboost1.81-doc/doc/html", start: "index.html", pkg: "libboost1.81-doc", pages: 2500},
		docs{
			host: "py.test", dir: "/usr/share/doc/python3-doc/html", start: "index.html", pkg: "python3-doc", pages: 400,
			robots: "User-agent: *\nDisallow: /c-api/\n",
		})
}

// unwanted is the suffix rule of both downloaders, as an extended regular expression.
const unwanted = `\.(css|js|png|svg|gif|jpg|ico|pdf|zip|gz|woff2?|inv|epub)([?#]|$)`

// docServer is an HTTP proxy that serves documentation and writes down who asked for what.
type docServer struct {
	sites map[string]docs

	mu    sync.Mutex
	asked map[string]map[string]int // client → URL → status, robots.txt left out
}

func (s *docServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	s.serve(rec, r)
	client, _, _ := strings.Cut(r.UserAgent(), "/")
	if r.URL.Path == "/robots.txt" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked[client] == nil {
		s.asked[client] = map[string]int{}
	}
	s.asked[client]["http://"+r.Host+r.URL.RequestURI()] = rec.status
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(code int) {
	w.status = code
	w.ResponseWriter.WriteHeader(code)
}

// serve answers with the file, a folder's index.html, a redirect to a folder's
// name with a slash, or 404.
func (s *docServer) serve(w http.ResponseWriter, r *http.Request) {
	d, ok := s.sites[r.Host]
	if !ok {
		http.Error(w, "no such host", http.StatusNotFound)
		return
	}
	if r.URL.Path == "/robots.txt" && d.robots != "" {
		_, _ = w.Write([]byte(d.robots))
		return
	}
	name := filepath.Join(d.dir, filepath.FromSlash(path.Clean("/"+r.URL.Path)))
	st, err := os.Stat(name)
	switch {
	case err == nil && st.IsDir() && !strings.HasSuffix(r.URL.Path, "/"):
		w.Header().Set("Location", r.URL.EscapedPath()+"/")
		w.WriteHeader(http.StatusMovedPermanently)
		return
	case err == nil && st.IsDir():
		name = filepath.Join(name, "index.html")
	}
	b, err := os.ReadFile(name)
	if err != nil {
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", contentType(name))
	_, _ = w.Write(b)
}

func contentType(name string) string {
	switch filepath.Ext(name) {
	case ".html", ".htm":
		return "text/html"
	}
	return "text/plain; charset=utf-8"
}

// file returns what the server answers a URL with.
func (s *docServer) file(t testing.TB, u string) (body []byte, isHTML bool) {
	t.Helper()
	p, err := url.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.serve(w, &http.Request{Method: http.MethodGet, Host: p.Host, URL: p})
	return w.Body.Bytes(), strings.HasPrefix(w.Header().Get("Content-Type"), "text/html")
}

func (s *docServer) seeds() []string {
	var out []string
	for _, host := range slices.Sorted(maps.Keys(s.sites)) {
		out = append(out, "http://"+host+"/"+s.sites[host].start)
	}
	return out
}

// serveDocs serves what is installed; it returns the proxy's address. The test is
// skipped when something is missing.
func serveDocs(t testing.TB, all []docs) (*docServer, string) {
	t.Helper()
	s := &docServer{sites: map[string]docs{}, asked: map[string]map[string]int{}}
	for _, d := range all {
		if _, err := fs.Stat(os.DirFS(d.dir), d.start); err != nil {
			t.Skipf("needs %s/%s of the Debian package %s", d.dir, d.start, d.pkg)
		}
		s.sites[d.host] = d
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		_ = srv.Serve(l)
		close(done)
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
	return s, l.Addr().String()
}

// wget downloads what can be reached from the seeds without leaving their hosts.
func wget(t testing.TB, addr string, seeds []string) {
	t.Helper()
	bin, err := exec.LookPath("wget")
	if err != nil {
		t.Skip("needs wget")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	args := []string{
		"--no-config", "-r", "-l", "inf", "-nv", "--delete-after", "--tries=1", "-P", t.TempDir(), "-U", "Wget/1", "--follow-tags=a,area,frame,iframe,link",
		"--reject-regex=" + unwanted, "--regex-type=posix", "-e", "robots=on", "-e", "use_proxy=on", "-e", "http_proxy=http://" + addr + "/",
	}
	cmd := exec.CommandContext(ctx, bin, append(args, seeds...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "no_proxy=")
	var out bytes.Buffer
	cmd.Stderr = &out
	// Exit code 8 says that a server answered with an error, such as 404.
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 8 {
		t.Fatalf("wget: %v\n%.2000s", err, out.String())
	}
}

// explained is why one of the two asks for URLs that the other does not.
type explained struct {
	by     string // the one that asks
	url    string
	markup string // what leads to it, on a page of the same host
	reason string
}

const (
	revMade = "rev=made names the author's address; a link element is a link to follow only with a rel that says so"
	slashes = "urlnormalizer-basic makes one of two slashes in a path, wget doesn't; neither URL exists"
)

var knownDifferences = []explained{
	{"wget", "http://pg.test/pgsql-docs@lists.postgresql.org", `<link rev="made" href="pgsql-docs@lists.postgresql.org" />`, revMade},
	{"wget", "http://boost.test//libs/random/example/die.cpp", `href="../../..//libs/random/example/die.cpp"`, slashes},
	{"wget", "http://boost.test//libs/random/example/intersections.cpp", `href="../../..//libs/random/example/intersections.cpp"`, slashes},
	{"wget", "http://boost.test//libs/random/example/password.cpp", `href="../../..//libs/random/example/password.cpp"`, slashes},
	{"wget", "http://boost.test//libs/random/example/weighted_die.cpp", `href="../../..//libs/random/example/weighted_die.cpp"`, slashes},
	{"wget", "http://boost.test/boost_process/(http://pubs.opengroup.org/onlinepubs/009695399/functions/mkfifo.html", `href="(http://pubs.opengroup.org/`, slashes},
	{"crawler", "http://boost.test/libs/random/example/die.cpp", `href="../../..//libs/random/example/die.cpp"`, slashes},
	{"crawler", "http://boost.test/libs/random/example/intersections.cpp", `href="../../..//libs/random/example/intersections.cpp"`, slashes},
	{"crawler", "http://boost.test/libs/random/example/password.cpp", `href="../../..//libs/random/example/password.cpp"`, slashes},
	{"crawler", "http://boost.test/libs/random/example/weighted_die.cpp", `href="../../..//libs/random/example/weighted_die.cpp"`, slashes},
	{"crawler", "http://boost.test/boost_process/(http:/pubs.opengroup.org/onlinepubs/009695399/functions/mkfifo.html", `href="(http://pubs.opengroup.org/`, slashes},
}

const docsSite = `
fetcher {
  server_delay      = "0s"
  threads_per_queue = 4
}
db {
  max_outlinks_per_page = -1
  ignore_external_links = true
}
plugin "urlfilter-regex" {
  rules = [%q, "+."]
}
plugin "parse-html" {
  outlinks_link_rels = ["alternate", "appendix", "author", "bookmark", "canonical", "chapter", "contents", "copyright", "first", "glossary", "help", "home", "index", "last", "next", "prev", "previous", "search", "section", "start", "subsection", "up"]
}
`

// TestRealDocumentation crawls documentation of Debian packages and compares what
// was fetched with what wget fetches by the same rules, and what searches find
// with what the files hold.
func TestRealDocumentation(t *testing.T) {
	all := shortDocs()
	if soak() {
		all = longDocs()
	}
	s, addr := serveDocs(t, all)
	wget(t, addr, s.seeds())
	dir := filepath.Join(t.TempDir(), "crawl")
	config := site(t, addr, fmt.Sprintf(docsSite, "-"+unwanted))
	args := []string{"run", "--config", config, "--dir", dir, "--json"}
	for _, u := range s.seeds() {
		args = append(args, "--seeds", u)
	}
	start := time.Now()
	mustRun(t, args...)
	took := time.Since(start)
	ours, theirs := s.asked["testbot"], s.asked["Wget"]
	s.compareAsked(t, ours, theirs)
	for _, d := range all {
		n := 0
		for u, status := range ours {
			if strings.HasPrefix(u, "http://"+d.host+"/") && status == http.StatusOK {
				n++
			}
		}
		if n < d.pages {
			t.Errorf("%s: only %d pages fetched", d.host, n)
		}
	}
	t.Logf("%d URLs asked for, by wget %d; crawled in %v", len(ours), len(theirs), took.Round(time.Millisecond))
	searchDocs(t, s, dir, config, addr)
}

// compareAsked checks that two clients asked for the same URLs, but for what is
// explained.
func (s *docServer) compareAsked(t *testing.T, ours, theirs map[string]int) {
	t.Helper()
	check := func(by string, a, b map[string]int) {
		for _, u := range slices.Sorted(maps.Keys(a)) {
			if _, both := b[u]; both {
				continue
			}
			if !slices.ContainsFunc(knownDifferences, func(e explained) bool { return e.by == by && e.url == u && s.holds(t, a, e) }) {
				t.Errorf("only %s asked for %s (%d)", by, u, a[u])
			}
		}
	}
	check("crawler", ours, theirs)
	check("wget", theirs, ours)
	for u, status := range ours {
		if other, both := theirs[u]; both && other != status {
			t.Errorf("%s answered %d and %d", u, status, other)
		}
	}
}

// holds reports whether one of the pages of the host has the markup that explains.
func (s *docServer) holds(t *testing.T, pages map[string]int, e explained) bool {
	t.Helper()
	want, err := url.Parse(e.url)
	if err != nil {
		t.Fatal(err)
	}
	for u, status := range pages {
		if status != http.StatusOK || !strings.HasPrefix(u, "http://"+want.Host+"/") {
			continue
		}
		if body, _ := s.file(t, u); bytes.Contains(body, []byte(e.markup)) {
			return true
		}
	}
	return false
}

// searchDocs searches words that only some pages hold.
func searchDocs(t *testing.T, s *docServer, dir, config, addr string) {
	t.Helper()
	pages := map[string][]string{} // word → URLs whose text holds it
	texts := map[string]string{}   // URL → text in lower case
	for u, status := range s.asked["testbot"] {
		if status != http.StatusOK {
			continue
		}
		body, isHTML := s.file(t, u)
		text := string(body)
		if isHTML {
			text = visibleText(t, body)
		}
		texts[u] = strings.ToLower(text)
		for w := range words(texts[u]) {
			pages[w] = append(pages[w], u)
		}
	}
	l := openLocal(t, dir, addr)
	if _, err := l.Chains.OpenWriters(t.Context(), l.WriterConfigs()); err != nil {
		t.Fatal(err)
	}
	copies := duplicates(t, l, s)
	n := 0
	rare := rareWords(pages, texts, 200)
	if len(rare) < 100 {
		t.Errorf("only %d words to search for", len(rare))
	}
	for _, w := range rare {
		res, err := l.Chains.Search(t.Context(), "main", &searcher.Query{Text: w, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, u := range pages[w] {
			if !copies[u] {
				want = append(want, u)
			}
		}
		for _, h := range res.Hits {
			got = append(got, h.ID)
		}
		slices.Sort(want)
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("search for %q (-pages that hold it +found):\n%s", w, d)
			if n++; n == 10 {
				t.Fatal("and so on")
			}
		}
	}
	l.close(t)
	searchByCommand(t, dir, config, pages, texts)
}

// searchByCommand is one search with the built binary.
func searchByCommand(t *testing.T, dir, config string, pages map[string][]string, texts map[string]string) {
	t.Helper()
	w := rareWords(pages, texts, 1)[0]
	var a struct {
		Total int
		Hits  []struct{ ID string }
	}
	out := mustRun(t, "search", "--config", config, "--dir", dir, "--json", w)
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	if a.Total == 0 || a.Total > len(pages[w]) || !slices.Contains(pages[w], a.Hits[0].ID) {
		t.Errorf("crawler search %s: %+v, want %v", w, a, pages[w])
	}
}

// duplicates returns the URLs that are not indexed because another page has the
// same bytes, which it checks.
func duplicates(t *testing.T, l *local, s *docServer) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	err := l.DB.Scan(t.Context(), "", func(k urlkey.Key, r *crawldb.Record) error {
		if r.Datum.Status != model.StatusDBDuplicate {
			return nil
		}
		u, err := urlkey.ToURL(k)
		if err != nil {
			return err
		}
		out[u] = true
		a, _ := s.file(t, u)
		if b, _ := s.file(t, r.Datum.DuplicateOf); !bytes.Equal(a, b) {
			t.Errorf("%s is no duplicate of %s", u, r.Datum.DuplicateOf)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// visibleText is the text of a page by an independent parser.
func visibleText(t testing.TB, body []byte) string {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
		if n.Type == html.ElementNode {
			switch n.Data {
			case "script", "style", "template":
				return
			case "b", "i", "em", "strong", "code", "span", "a", "tt", "var", "sub", "sup", "font", "kbd", "small", "big", "u", "dfn", "cite", "abbr", "acronym":
			default:
				b.WriteByte('\n')
				defer b.WriteByte('\n')
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(doc)
	return b.String()
}

// words cuts a text at everything that is neither letter nor digit.
func words(text string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		out[w] = true
	}
	return out
}

var plainWord = regexp.MustCompile(`^[a-z]{6,14}$`)

// rareWords picks up to n words that 1 to 20 pages hold. Whoever cuts texts into
// words must find them: they are no part of another word, and nothing but white space and
// plain signs stands around them.
func rareWords(pages map[string][]string, texts map[string]string, n int) []string {
	var rare []string
	all := slices.Sorted(maps.Keys(pages))
	for _, w := range all {
		if len(pages[w]) <= 20 && plainWord.MatchString(w) {
			rare = append(rare, w)
		}
	}
	var out []string
	step := max(1, len(rare)/(3*n)) // all over the alphabet
	for i := 0; i < len(rare) && len(out) < n; i += step {
		w := rare[i]
		part := func(longer string) bool { return longer != w && strings.Contains(longer, w) }
		apart := func(u string) bool { return standsAlone(w, texts[u]) }
		if !slices.ContainsFunc(all, part) && !slices.ContainsFunc(pages[w], func(u string) bool { return !apart(u) }) {
			out = append(out, w)
		}
	}
	return out
}

// standsAlone reports whether w has white space or plain signs around it wherever
// it occurs in text.
func standsAlone(w, text string) bool {
	const plain = " \n\t\r,;()"
	for at := 0; ; {
		i := strings.Index(text[at:], w)
		if i < 0 {
			return true
		}
		i += at
		at = i + len(w)
		if i > 0 && !strings.Contains(plain, text[i-1:i]) || at < len(text) && !strings.Contains(plain, text[at:at+1]) {
			return false
		}
	}
}
