package pluginhost

import (
	"testing"
	"time"
)

// BenchmarkStart measures a process from its start to its first answer, and
// from a crash to the moment everything is cleaned up.
func BenchmarkStart(b *testing.B) {
	h, p := newHost(b, Options{}, nil)
	var start, end time.Duration
	for b.Loop() {
		t0 := time.Now()
		pr, err := h.launch(b.Context(), p)
		if err != nil {
			b.Fatal(err)
		}
		t1 := time.Now()
		pr.kill(Crashed, "benchmark")
		<-pr.gone
		start += t1.Sub(t0)
		end += time.Since(t1)
	}
	b.ReportMetric(float64(start.Microseconds())/float64(b.N), "start-us")
	b.ReportMetric(float64(end.Microseconds())/float64(b.N), "end-us")
}

func BenchmarkCall(b *testing.B) {
	_, p := newHost(b, Options{}, nil)
	if _, err := ask(b.Context(), p, "x"); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := ask(b.Context(), p, "x"); err != nil {
			b.Fatal(err)
		}
	}
}
