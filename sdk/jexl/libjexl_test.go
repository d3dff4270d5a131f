package jexl

import (
	"testing"
)

func TestNumber(t *testing.T) {
	vars := map[string]any{"fetched": int64(1500), "gone": int64(3), "avg": map[string]any{"_rs_": 250.5}}
	for text, want := range map[string]float64{
		"100": 100, "2.5": 2.5, "fetched > 1000 ? 100 : 10": 100, "fetched gt 5000 ? 100 : 10": 10, "avg._rs_ * 10": 2505, "fetched / 2": 750,
		"-1": -1, "gone + 1": 4, "500L": 500,
	} {
		p, err := CompileNumber(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := p.Number(vars); err != nil || got != want {
			t.Errorf("%s = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"'text'", "fetched > 5", "missing * 2", "missing", "pct95._rs_", "0.0/0.0"} {
		p, err := CompileNumber(text)
		if err != nil {
			continue
		}
		if got, err := p.Number(vars); err == nil {
			t.Errorf("%s = %v, want an error", text, got)
		}
	}
	if _, err := CompileNumber("1 +"); err == nil {
		t.Error("half an expression compiles")
	}
}
