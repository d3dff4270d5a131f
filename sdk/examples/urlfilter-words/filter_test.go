package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func newFilter(t *testing.T, settings string) (*sdk.Extensions, error) {
	t.Helper()
	return build(sdk.Env{Settings: sdk.Settings{Own: []byte(settings)}, Logger: hclog.NewNullLogger()})
}

func TestFilterURL(t *testing.T) {
	file := filepath.Join(t.TempDir(), "words.txt")
	if err := os.WriteFile(file, []byte("# words\n\n Trolley \n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ settings, url, reason string }{
		"plain":           {`{"reject": ["login"]}`, "http://h/a", ""},
		"word in path":    {`{"reject": ["login"]}`, "http://h/a/Login.php", "reject: login"},
		"word in query":   {`{"reject": ["login"]}`, "http://h/?next=login&x", "reject: login"},
		"part of a word":  {`{"reject": ["login"]}`, "http://h/loginless", ""},
		"host left out":   {`{"reject": ["login"]}`, "http://login.h/", ""},
		"host too":        {`{"reject": ["login"], "hosts_too": true}`, "http://login.h/", "reject: login"},
		"other letters":   {`{"reject": ["größe"]}`, "http://h/GRÖSSE/Größe", "reject: größe"},
		"escaped letters": {`{"reject": ["größe"]}`, "http://h/gr%C3%B6%C3%9Fe", "reject: größe"},
		"no url":          {`{"reject": ["login"]}`, "::login::\xff", "reject: login"},
		"file":            {`{"file": "` + file + `"}`, "http://h/trolley", file + ":3: trolley"},
		"no words":        {`{}`, "http://h/login", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := newFilter(t, c.settings)
			if err != nil {
				t.Fatal(err)
			}
			v, err := e.URLFilter.FilterURL(context.Background(), c.url)
			if err != nil || v.Reason != c.reason || v.Accept != (c.reason == "") {
				t.Errorf("%s: got %+v, %v, want reason %q", c.url, v, err, c.reason)
			}
		})
	}
}

func TestBadSettings(t *testing.T) {
	for settings, want := range map[string]string{
		`{"reject": ["two words"]}`:  "two words",
		`{"reject": [""]}`:           "not one word",
		`{"file": "/nowhere/words"}`: "/nowhere/words",
		`{"rejekt": []}`:             "rejekt",
	} {
		if _, err := newFilter(t, settings); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", settings, err)
		}
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, Plugin(), plugintest.Options{URLs: []string{"http://example.org/login", "http://example.org/loginless"}})
}
