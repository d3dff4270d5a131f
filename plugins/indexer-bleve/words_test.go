package indexerbleve

import (
	"strings"
	"testing"
)

func TestShortWords(t *testing.T) {
	long := strings.Repeat("aB9_", 1000)
	kana := strings.Repeat("かな漢字", 1000)
	for in, want := range map[string]string{
		"":                    "",
		"plain words":         "plain words",
		long[:maxWord]:        long[:maxWord],
		long[:maxWord+1]:      long[:maxWord],
		"a " + long + " b":    "a " + long[:maxWord] + " b",
		long + "-" + long:     long[:maxWord] + "-" + long[:maxWord],
		"x " + kana + long:    "x " + kana + long[:maxWord],
		long + "\xff" + "end": long[:maxWord] + "\xff" + "end",
	} {
		if got := shortWords(in); got != want {
			t.Errorf("%.20q, %d bytes: got %d bytes, want %d", in, len(in), len(got), len(want))
		}
	}
}
