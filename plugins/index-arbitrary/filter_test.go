package indexarbitrary_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	indexarbitrary "github.com/gonutch/crawler/plugins/index-arbitrary"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
)

// TestMain is the program that the plugin runs, too, when it is called with the
// argument "program".
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "program" {
		program()
		return
	}
	os.Exit(m.Run())
}

// program does what the title of the document says.
func program() {
	fmt.Fprintln(os.Stderr, "started")
	in := bufio.NewReader(os.Stdin)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var q indexarbitrary.Question
		if err := json.Unmarshal(line, &q); err != nil {
			fmt.Println(`{"error": "no question"}`)
			continue
		}
		switch q.Title {
		case "count":
			fmt.Printf(`{"set": {"n": "%d"}}`+"\n", n)
		case "exit":
			os.Exit(3)
		case "hang":
			select {}
		case "echo":
			b, _ := json.Marshal(map[string]map[string]string{"set": {"q": string(line)}})
			fmt.Println(string(b))
		case "long":
			fmt.Println(`{"drop": "` + strings.Repeat("x", 100000) + `"}`)
		default:
			if strings.HasPrefix(q.Title, "{") {
				fmt.Println(q.Title)
			} else {
				fmt.Println("{}")
			}
		}
	}
}

func settings(t testing.TB, more string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal([]string{self, "program"})
	if err != nil {
		t.Fatal(err)
	}
	return `{"command": ` + string(b) + more + `}`
}

func titled(s string) *indexingfilter.Input {
	return &indexingfilter.Input{URL: "http://a/", Parse: model.Parse{Title: s, Text: "text"}}
}

func TestAnswers(t *testing.T) {
	f := libtest.Must(t, indexarbitrary.Plugin(), settings(t, "")).IndexingFilter
	for _, c := range []struct {
		title string
		want  *indexingfilter.Patch
		err   string
	}{
		{"nothing", nil, ""},
		{`{"set": {"a": ["1", "2"], "b": "3"}}`, &indexingfilter.Patch{Set: map[string][]string{"a": {"1", "2"}, "b": {"3"}}}, ""},
		{`{"add": {"a": "x"}, "remove": ["b"]}`, &indexingfilter.Patch{Add: map[string][]string{"a": {"x"}}, Remove: []string{"b"}}, ""},
		{`{"drop": "spam"}`, &indexingfilter.Patch{Drop: "spam"}, ""},
		{`{"error": "no model"}`, nil, "program: no model"},
		{`{"sett": {}}`, nil, `unknown field "sett"`},
		{`{"set": {"a": 1}}`, nil, "cannot unmarshal number"},
		{`{"set": `, nil, "unexpected EOF"},
		{"nothing", nil, ""},
	} {
		got, err := f.FilterDocument(t.Context(), titled(c.title))
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.title, d)
		}
		if (err == nil) != (c.err == "") || err != nil && (!strings.Contains(err.Error(), c.err) || !fault.Is(err, fault.Permanent)) {
			t.Errorf("%s: error %v, want %s", c.title, err, c.err)
		}
	}
}

func TestQuestion(t *testing.T) {
	f := libtest.Must(t, indexarbitrary.Plugin(), settings(t, `, "fields": ["host"], "send_text": false`)).IndexingFilter
	in := titled("echo")
	in.Doc.Fields = map[string][]string{"host": {"a"}, "content": {"long"}}
	in.Datum = model.CrawlDatum{Status: model.StatusDBFetched, Score: 500_000, PrevFetchTime: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), Metadata: model.Metadata{"k": {"v\n\xff"}}}
	p, err := f.FilterDocument(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	var got indexarbitrary.Question
	if err := json.Unmarshal([]byte(p.Set["q"][0]), &got); err != nil {
		t.Fatal(err)
	}
	want := indexarbitrary.Question{
		URL: "http://a/", Title: "echo", Fields: map[string][]string{"host": {"a"}}, DBMeta: model.Metadata{"k": {"v\n\ufffd"}},
		Status: "db_fetched", Score: 0.5, FetchTime: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestFailures: a program that ends, hangs or says too much costs its document
// only; the next one is asked of a new process.
func TestFailures(t *testing.T) {
	f := libtest.Must(t, indexarbitrary.Plugin(), settings(t, `, "time_limit": "300ms", "max_answer": "50KiB"`)).IndexingFilter
	count := func(want string) {
		t.Helper()
		p, err := f.FilterDocument(t.Context(), titled("count"))
		if err != nil || p.Set["n"][0] != want {
			t.Errorf("got %v, %v, want %s", p, err, want)
		}
	}
	count("1")
	count("2")
	if _, err := f.FilterDocument(t.Context(), titled("exit")); !fault.Is(err, fault.Transient) || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("exit: %v", err)
	}
	count("1")
	if _, err := f.FilterDocument(t.Context(), titled("hang")); !fault.Is(err, fault.Permanent) || !strings.Contains(err.Error(), "time_limit") {
		t.Errorf("hang: %v", err)
	}
	count("1")
	if _, err := f.FilterDocument(t.Context(), titled("long")); !fault.Is(err, fault.Permanent) || !strings.Contains(err.Error(), "max_answer") {
		t.Errorf("long: %v", err)
	}
	count("1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.FilterDocument(ctx, titled("hang")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	count("2")
	big := titled("count")
	big.Parse.Text = strings.Repeat("x", 1<<20)
	if p, err := f.FilterDocument(t.Context(), big); err != nil || p.Set["n"][0] != "3" {
		t.Errorf("big: %v, %v", p, err)
	}
}

func TestProcesses(t *testing.T) {
	f := libtest.Must(t, indexarbitrary.Plugin(), settings(t, `, "processes": 2`)).IndexingFilter
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			want := fmt.Sprintf(`{"drop": "%d"}`, i)
			if p, err := f.FilterDocument(t.Context(), titled(want)); err != nil || p.Drop != fmt.Sprint(i) {
				t.Errorf("%s: %v, %v", want, p, err)
			}
		})
	}
	wg.Wait()
}

func TestSettings(t *testing.T) {
	if _, err := libtest.New(t, indexarbitrary.Plugin(), `{"command": ["no-such-program-here"]}`); !fault.Is(err, fault.Invalid) {
		t.Errorf("got %v", err)
	}
	if p := libtest.FilterDocument(t, indexarbitrary.Plugin(), "", titled("x")); p.Set != nil || p.Drop != "" {
		t.Errorf("no program: %v", p)
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, indexarbitrary.Plugin(), plugintest.Options{Settings: settings(t, `, "processes": 2`)})
}
