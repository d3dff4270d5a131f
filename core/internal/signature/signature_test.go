package signature

import (
	"encoding/hex"
	"strings"
	"testing"
)

func compute(name, url, body, text string) string {
	c := DefaultConfig()
	c.Name = name
	return hex.EncodeToString(Compute(c, url, []byte(body), text))
}

func TestChoiceAndFallBack(t *testing.T) {
	// md5sum of "body", "text" and "http://a/".
	const body, text, url = "841a2d689ad86bd1611447453c22c6fc", "1cb251ec0d568de6a929b520c4aed8d1", "d2e30d023bacb13655cf2f69855ddd49"
	for _, c := range []struct{ name, body, text, want string }{
		{MD5, "body", "text", body},
		{MD5, "", "text", url},
		{TextMD5, "body", "text", text},
		{TextMD5, "body", "", body},
		{TextMD5, "", "", url},
		{TextProfile, "body", "", body},
		{TextProfile, "", "", url},
	} {
		if got := compute(c.name, "http://a/", c.body, c.text); got != c.want {
			t.Errorf("%s of (%q, %q) = %s, want %s", c.name, c.body, c.text, got, c.want)
		}
	}
}

func TestProfile(t *testing.T) {
	hundred := strings.Repeat("alpha ", 300) + strings.Repeat("beta ", 10) + "once twice twice"
	for _, c := range []struct {
		name, text, want string
		change           func(*Config)
	}{
		{"all once: all count", "Zeta, Beta. gamma", "beta 1\ngamma 1\nzeta 1", nil},
		{"single words vanish beside a double one", "zeta beta Beta gamma", "beta 2", nil},
		{"rounded down to 2", "aaa aaa aaa bbb bbb ccc", "aaa 2\nbbb 2", nil},
		{"quantised by the highest count", hundred, "alpha 300\nbeta 9", nil}, // quant 3
		{"short words ignored", "ab ab abc", "abc 1", nil},
		{"characters, not bytes", "éé éé ééé", "ééé 1", nil},
		{"digits and case", "Route66 ROUTE66 (route66)", "route66 2", nil},
		{"nothing left", "a b c", "", nil},
		{"order of first use", "zzz aaa", "zzz 1\naaa 1", func(c *Config) { c.SecSortLex = false }},
		{"minimum length", "ab abcd", "ab 1\nabcd 1", func(c *Config) { c.MinTokenLen = 0 }},
	} {
		cfg := DefaultConfig()
		if c.change != nil {
			c.change(&cfg)
		}
		if got := profile(cfg, c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Nutch's TestTextProfileSignature: the order of words does not matter.
func TestProfileIgnoresOrderButNotWords(t *testing.T) {
	a := compute(TextProfile, "u", "", "Hello World The Quick Brown Fox Jumped Over the Lazy Fox")
	b := compute(TextProfile, "v", "x", "The Quick Brown Fox Jumped Over the Lazy Fox Hello World")
	c := compute(TextProfile, "u", "", "Hello World The Quick Brown Dog Jumped Over the Lazy Dog")
	if a != b || a == c {
		t.Errorf("signatures %s %s %s", a, b, c)
	}
}

func TestValidate(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
	err := Config{Name: "sha1", MinTokenLen: -1, QuantRate: 2}.Validate()
	if err == nil || len(strings.Split(err.Error(), "\n")) != 3 {
		t.Errorf("want three faults, got %v", err)
	}
}
