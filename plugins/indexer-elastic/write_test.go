package indexerelastic

import (
	"encoding/json"
	"testing"
)

// TestDecimal: whole boosts are written so that an index makes their field one for decimals.
func TestDecimal(t *testing.T) {
	for v, want := range map[float64]string{1: "1.0", 0: "0.0", 1.5: "1.5", 1e30: "1e+30", -2: "-2.0"} {
		if got, err := json.Marshal(decimal(v)); err != nil || string(got) != want {
			t.Errorf("%v: %s, %v; want %s", v, got, err, want)
		}
	}
}
