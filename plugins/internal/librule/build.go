package librule

import (
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/fault"
)

// Build makes T of the rules that a plugin's settings "rules" (a list of lines) or
// "file" give, or of builtin when they give none; it is the constructor of plugins that have no
// other settings of weight. It returns the lines, too, for messages. Errors are of kind
// Invalid.
func Build[T any](settings sdk.Settings, builtin string, parse func(*Lines) (T, error)) (T, *Lines, error) {
	var none T
	var c struct {
		File  string   `json:"file"`
		Rules []string `json:"rules"`
	}
	if err := settings.Decode(&c); err != nil {
		return none, nil, err
	}
	lines, err := Source{Setting: "rules", Inline: c.Rules, File: c.File, Builtin: builtin}.Load()
	if err != nil {
		return none, nil, fault.New(fault.Invalid, err)
	}
	made, err := parse(lines)
	if err != nil {
		return none, nil, fault.New(fault.Invalid, err)
	}
	return made, lines, nil
}
