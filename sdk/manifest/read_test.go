package manifest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestRead runs testdata/read_*: "read" reads a manifest and prints its
// problems or, when it is sound, the manifest as JSON.
func TestRead(t *testing.T) {
	files, err := filepath.Glob("testdata/read_*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			datadriven.RunTest(t, f, func(t *testing.T, d *datadriven.TestData) string {
				m, err := Read("plugin.hcl", []byte(d.Input))
				if err != nil {
					return err.Error()
				}
				if string(m.Source) != d.Input || m.File != "plugin.hcl" {
					t.Errorf("source or file not kept: %q", m.File)
				}
				m.Source, m.File = nil, ""
				out, err := json.MarshalIndent(m, "", " ")
				if err != nil {
					t.Fatal(err)
				}
				return string(out)
			})
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"id = \"a\"\nname = \"A\"\nversion = \"1\"\napi = 1\nprovide \"urlfilter\" {}\n",
		"setting \"x\" {\n type = \"duration\"\n default = \"5s\"\n meaning = \"m\"\n min = \"1s\"\n}\n",
		"needs {\n fact \"meta\" {\n arg = \"*\"\n }\n}",
		"a = [1, {b = \"${c}\"}, <<E\nx\nE\n]", "\xef\xbb\xbfid = 1", "<xml/>", "setting \"m\" {\n type = \"map\"\n default = {a = \"b\"}\n}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		m, err := Read("plugin.hcl", src)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without a text")
			}
			return
		}
		checkSound(t, m)
	})
}

// checkSound checks what every manifest that Read accepts must keep.
func checkSound(t *testing.T, m *Manifest) {
	t.Helper()
	if !ValidID(m.ID) || len(m.Provides) == 0 || m.API != APIVersion || m.Version == "" {
		t.Errorf("incomplete manifest accepted: %+v", m)
	}
	for _, list := range [][]Setting{m.Settings, m.Parameters} {
		for i := range list {
			s := &list[i]
			if s.Type == "" || s.Meaning == "" {
				t.Errorf("incomplete setting accepted: %+v", s)
			}
			if s.Default == nil {
				continue
			}
			// What Read made of the default is the type's own form: writing and
			// reading it again changes nothing.
			text := "id = \"a\"\nname = \"A\"\nversion = \"1\"\napi = 1\nprovide \"urlfilter\" {}\nsetting \"x\" {\n type = \"" +
				string(s.Type) + "\"\n meaning = \"m\"\n off = " + Literal(s.Off) + "\n default = " + Literal(s.Default) + "\n}\n"
			again, err := Read("again.hcl", []byte(text))
			if err != nil {
				t.Fatalf("default %s of type %s does not read back: %v", Literal(s.Default), s.Type, err)
			}
			if got := again.Settings[0].Default; Literal(got) != Literal(s.Default) {
				t.Fatalf("default %s reads back as %s", Literal(s.Default), Literal(got))
			}
		}
	}
}

// TestBuiltinManifests reads every manifest of the repository's plugins.
func TestBuiltinManifests(t *testing.T) {
	files, err := filepath.Glob("../../plugins/*/plugin.hcl")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Read(f, src)
		if err != nil {
			t.Error(err)
			continue
		}
		if dir := filepath.Base(filepath.Dir(f)); m.ID != dir {
			t.Errorf("%s: id %q is not the folder's name", f, m.ID)
		}
	}
}
