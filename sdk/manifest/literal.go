package manifest

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Literal writes v as HCL does.
func Literal(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case string:
		return quoteHCL(x)
	case bool:
		return strconv.FormatBool(x)
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case []string:
		parts := make([]string, len(x))
		for i, e := range x {
			parts[i] = quoteHCL(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case []any:
		parts := make([]string, len(x))
		for i, e := range x {
			parts[i] = Literal(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]string:
		parts := make([]string, 0, len(x))
		for k, e := range x {
			parts = append(parts, quoteHCL(k)+" = "+quoteHCL(e))
		}
		return mapLiteral(parts)
	case map[string]any:
		parts := make([]string, 0, len(x))
		for k, e := range x {
			parts = append(parts, quoteHCL(k)+" = "+Literal(e))
		}
		return mapLiteral(parts)
	}
	return fmt.Sprintf("%v", v)
}

func mapLiteral(parts []string) string {
	if len(parts) == 0 {
		return "{}"
	}
	sort.Strings(parts)
	return "{ " + strings.Join(parts, ", ") + " }"
}

// quoteHCL quotes s so that reading it back gives s: HCL knows no \x escape,
// and "${" and "%{" start templates.
func quoteHCL(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always marshals
	}
	t := strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\b`, `\u0008`, `\f`, `\u000c`).Replace(string(b))
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(t)
}
