package libindex

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gonutch/crawler/sdk/model"
)

// Clean returns s without what servers and their XML and JSON writers stumble
// over: control characters but tab and line ends, and U+FFFE, U+FFFF and the
// like; invalid UTF-8 becomes U+FFFD (Nutch's indexer strips the same).
func Clean(s string) string {
	bad := func(r rune) bool {
		return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r&0xfffe == 0xfffe || r >= 0xfdd0 && r <= 0xfdef
	}
	if utf8.ValidString(s) && strings.IndexFunc(s, bad) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if bad(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// Fields returns d's fields as JSON engines take them, one value as itself and
// several as a list, all of them clean, and room for extra more.
func Fields(d *model.Document, extra int) map[string]any {
	out := make(map[string]any, len(d.Fields)+extra)
	for k, v := range d.Fields {
		switch len(v) {
		case 0:
		case 1:
			out[k] = Clean(v[0])
		default:
			list := make([]string, len(v))
			for i := range v {
				list[i] = Clean(v[i])
			}
			out[k] = list
		}
	}
	return out
}

// Values returns a value of a JSON answer as texts, a list as its elements.
func Values(v any) []string {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return []string{v}
	case float64:
		return []string{strconv.FormatFloat(v, 'f', -1, 64)}
	case bool:
		return []string{strconv.FormatBool(v)}
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, Values(e)...)
		}
		return out
	}
	return []string{fmt.Sprint(v)}
}
