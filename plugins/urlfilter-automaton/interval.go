package urlfilterautomaton

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// intervalRE returns an expression for the numbers from low to high. Bounds of
// the same length stand for numbers of just that length, with zeros in front;
// else any number of zeros may stand in front.
func intervalRE(low, high string) (string, error) {
	lo, err1 := strconv.ParseUint(low, 10, 31)
	hi, err2 := strconv.ParseUint(high, 10, 31)
	if err1 != nil || err2 != nil {
		return "", errors.New("want two whole numbers up to 2147483647, such as <1-31>")
	}
	if lo > hi {
		lo, hi, low, high = hi, lo, high, low
	}
	if len(low) == len(high) {
		return "(?:" + sameLength(low, high) + ")", nil
	}
	low, high = strconv.FormatUint(lo, 10), strconv.FormatUint(hi, 10)
	var parts []string
	for len(low) < len(high) {
		parts = append(parts, sameLength(low, strings.Repeat("9", len(low))))
		low = "1" + strings.Repeat("0", len(low))
	}
	return "0*(?:" + strings.Join(append(parts, sameLength(low, high)), "|") + ")", nil
}

// sameLength returns an expression for the numbers from low to high, which are
// of the same length, with zeros in front.
func sameLength(low, high string) string {
	if low == high {
		return low
	}
	if low[0] == high[0] {
		return low[:1] + "(?:" + sameLength(low[1:], high[1:]) + ")"
	}
	rest := len(low) - 1
	if rest == 0 {
		return digits(low[0], high[0])
	}
	var parts []string
	zeros, nines := strings.Repeat("0", rest), strings.Repeat("9", rest)
	from, to := low[0], high[0]
	if low[1:] != zeros {
		parts = append(parts, low[:1]+"(?:"+sameLength(low[1:], nines)+")")
		from++
	}
	if high[1:] != nines {
		to--
	}
	if from <= to {
		parts = append(parts, fmt.Sprintf("%s[0-9]{%d}", digits(from, to), rest))
	}
	if to != high[0] {
		parts = append(parts, high[:1]+"(?:"+sameLength(zeros, high[1:])+")")
	}
	return strings.Join(parts, "|")
}

func digits(from, to byte) string { return "[" + string(from) + "-" + string(to) + "]" }
