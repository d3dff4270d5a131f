package conform_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/conform"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func hcl(provides string) string {
	return "id = \"urlfilter-test\"\nname = \"x\"\nversion = \"1\"\napi = 1\n" + provides
}

const filterManifest = "provide \"urlfilter\" {}\nsetting \"word\" {\n  type = \"string\"\n  default = \"spam\"\n  meaning = \"x\"\n}\n"

// check runs the suite and returns the names of the cases that failed.
func check(t *testing.T, p sdk.Plugin, o conform.Options) map[string][]string {
	t.Helper()
	m, err := manifest.Read("plugin.hcl", p.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	suite := conform.New(conform.NewLocal(p, m), o)
	defer func() {
		if err := suite.Close(); err != nil {
			t.Error(err)
		}
	}()
	failed := map[string][]string{}
	for _, c := range suite.Cases() {
		if out := c.Run(context.Background()); len(out.Failures) > 0 {
			failed[c.Name] = out.Failures
		}
	}
	return failed
}

type filterFunc func(url string) (urlfilter.Verdict, error)

func (f filterFunc) FilterURL(_ context.Context, url string) (urlfilter.Verdict, error) {
	return f(url)
}

// batchFunc is a filter that answers batches itself.
type batchFunc func(ctx context.Context, urls []string) ([]urlfilter.Verdict, []error, error)

func (f batchFunc) FilterURL(context.Context, string) (urlfilter.Verdict, error) {
	panic("not called")
}

func (f batchFunc) FilterURLs(ctx context.Context, urls []string) ([]urlfilter.Verdict, []error, error) {
	return f(ctx, urls)
}

func filterPlugin(f urlfilter.Filter) sdk.Plugin {
	return sdk.Plugin{Manifest: []byte(hcl(filterManifest)), New: func(env sdk.Env) (*sdk.Extensions, error) {
		var c struct {
			Word string `json:"word"`
		}
		if err := env.Settings.Decode(&c); err != nil {
			return nil, err
		}
		if c.Word == "" {
			return nil, fault.Errorf(fault.Invalid, "word is empty")
		}
		return &sdk.Extensions{URLFilter: f}, nil
	}}
}

func accept(string) (urlfilter.Verdict, error) { return urlfilter.Verdict{Accept: true}, nil }

func TestGoodPlugin(t *testing.T) {
	f := filterFunc(func(url string) (urlfilter.Verdict, error) {
		if len(url)%5 == 0 {
			return urlfilter.Verdict{}, fault.Errorf(fault.Denied, "no %s", url)
		}
		return urlfilter.Verdict{Accept: len(url)%2 == 0, Reason: url}, nil
	})
	if failed := check(t, filterPlugin(f), conform.Options{}); len(failed) != 0 {
		t.Errorf("failed: %v", failed)
	}
}

// TestBadPlugins: every fault is found by the case that is there for it.
func TestBadPlugins(t *testing.T) {
	var calls atomic.Int64
	verdicts := func(urls []string, at func(i int) bool) []urlfilter.Verdict {
		out := make([]urlfilter.Verdict, len(urls))
		for i := range out {
			out[i].Accept = at(i)
		}
		return out
	}
	for name, c := range map[string]struct {
		plugin sdk.Plugin
		o      conform.Options
		want   string
	}{
		"another answer each time": {filterPlugin(filterFunc(func(string) (urlfilter.Verdict, error) {
			return urlfilter.Verdict{Accept: calls.Add(1)%7 == 0}, nil
		})), conform.Options{}, "urlfilter/same answer twice"},
		"depends on the length": {filterPlugin(batchFunc(func(_ context.Context, urls []string) ([]urlfilter.Verdict, []error, error) {
			return verdicts(urls, func(int) bool { return len(urls) > 1 }), nil, nil
		})), conform.Options{}, "urlfilter/alone and together"},
		"depends on the place": {filterPlugin(batchFunc(func(_ context.Context, urls []string) ([]urlfilter.Verdict, []error, error) {
			return verdicts(urls, func(i int) bool { return i == 0 }), nil, nil
		})), conform.Options{}, "urlfilter/any order"},
		"depends on the number": {filterPlugin(batchFunc(func(_ context.Context, urls []string) ([]urlfilter.Verdict, []error, error) {
			return verdicts(urls, func(int) bool { return len(urls) < 500 }), nil, nil
		})), conform.Options{}, "urlfilter/great batch"},
		"one answer too many": {filterPlugin(batchFunc(func(_ context.Context, urls []string) ([]urlfilter.Verdict, []error, error) {
			return make([]urlfilter.Verdict, len(urls)+1), nil, nil
		})), conform.Options{}, "urlfilter/odd input"},
		"valid UTF-8 only": {filterPlugin(batchFunc(func(_ context.Context, urls []string) ([]urlfilter.Verdict, []error, error) {
			for _, u := range urls {
				if !utf8.ValidString(u) {
					return nil, nil, fault.Errorf(fault.Invalid, "not UTF-8")
				}
			}
			return make([]urlfilter.Verdict, len(urls)), nil, nil
		})), conform.Options{}, "urlfilter/odd input"},
		"gives up once cancelled": {filterPlugin(batchFunc(func(ctx context.Context, urls []string) ([]urlfilter.Verdict, []error, error) {
			if len(urls) == 1000 || calls.Load() < 0 {
				calls.Store(-1 << 40)
				return nil, nil, fault.Errorf(fault.Permanent, "broken")
			}
			return make([]urlfilter.Verdict, len(urls)), nil, nil
		})), conform.Options{}, "urlfilter/cancelled"},
		"swallows settings": {sdk.Plugin{Manifest: []byte(hcl(filterManifest)), New: func(sdk.Env) (*sdk.Extensions, error) {
			return &sdk.Extensions{URLFilter: filterFunc(accept)}, nil
		}}, conform.Options{}, "base/bad settings"},
		"defaults do not work": {filterPlugin(filterFunc(accept)), conform.Options{Settings: `{"word": ""}`}, "base/defaults"},
		"settings not in it":   {filterPlugin(filterFunc(accept)), conform.Options{Settings: `{"wrod": "x"}`}, "base/defaults"},
		"less than the manifest": {sdk.Plugin{Manifest: []byte(hcl("provide \"urlfilter\" {}\nprovide \"urlexemption\" {}\n")), New: func(sdk.Env) (*sdk.Extensions, error) {
			return &sdk.Extensions{URLFilter: filterFunc(accept)}, nil
		}}, conform.Options{}, "base/provides"},
		"more than the manifest": {sdk.Plugin{Manifest: []byte(hcl("provide \"urlfilter\" {}\n")), New: func(sdk.Env) (*sdk.Extensions, error) {
			return &sdk.Extensions{URLFilter: filterFunc(accept), Scoring: scoring.Pass{}}, nil
		}}, conform.Options{}, "base/provides"},
		"does not close": {sdk.Plugin{Manifest: []byte(hcl("provide \"urlfilter\" {}\n")), New: func(sdk.Env) (*sdk.Extensions, error) {
			return &sdk.Extensions{URLFilter: filterFunc(accept), Close: func() error { return fault.Errorf(fault.Permanent, "stuck") }}, nil
		}}, conform.Options{}, "base/shutdown without use"},
		"forgets facts": {sdk.Plugin{Manifest: []byte(hcl("provide \"parser\" {\n  mime_types = [\"text/html\"]\n}\n")), New: func(sdk.Env) (*sdk.Extensions, error) {
			return &sdk.Extensions{Parser: noFacts{}}, nil
		}}, conform.Options{}, "parser/odd input"},
		"undeclared field": {sdk.Plugin{Manifest: []byte(hcl("provide \"scoring\" {}\n")), New: func(sdk.Env) (*sdk.Extensions, error) {
			return &sdk.Extensions{Scoring: undeclared{}}, nil
		}}, conform.Options{}, "scoring/injected: same answer twice"},
	} {
		t.Run(name, func(t *testing.T) {
			calls.Store(0)
			if name == "does not close" {
				m, err := manifest.Read("plugin.hcl", c.plugin.Manifest)
				if err != nil {
					t.Fatal(err)
				}
				for _, k := range conform.New(conform.NewLocal(c.plugin, m), c.o).Cases() {
					if k.Name == c.want && len(k.Run(context.Background()).Failures) == 0 {
						t.Error("not found")
					}
				}
				return
			}
			failed := check(t, c.plugin, c.o)
			if len(failed[c.want]) == 0 {
				t.Errorf("%s did not fail; failed: %v", c.want, failed)
			}
		})
	}
}

type noFacts struct{}

func (noFacts) Parse(context.Context, *parser.Input) (*parser.Output, error) {
	return &parser.Output{Parses: []model.Parse{{Status: model.ParseStatus{Major: model.ParseSuccess}}}}, nil
}

type undeclared struct{ scoring.Pass }

func (undeclared) Injected(_ context.Context, in []scoring.InjectInput) ([]model.Fields, error) {
	out := make([]model.Fields, len(in))
	for i := range out {
		out[i] = model.Fields{"mine": 1}
	}
	return out, nil
}

func TestOptions(t *testing.T) {
	m, err := manifest.Read("plugin.hcl", []byte(hcl(filterManifest+"sections = [\"http\", \"db\"]\n")))
	if err != nil {
		t.Fatal(err)
	}
	c, err := conform.Configuration(m, `{"word": "ham"}`, map[string]string{"http": `{"agent_name": "x"}`})
	if err != nil {
		t.Fatal(err)
	}
	if string(c.Own) != `{"word":"ham"}` || string(c.Sections["http"]) != `{"agent_name": "x"}` || string(c.Sections["db"]) != `{}` {
		t.Errorf("got %s, %s", c.Own, c.Sections)
	}
	for _, bad := range []string{"5", `{"wrod": 1}`} {
		if _, err := conform.Configuration(m, bad, nil); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestLoad(t *testing.T) {
	if _, err := conform.Load(t.TempDir()); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "plugin.hcl") {
		t.Errorf("got %v", err)
	}
}
