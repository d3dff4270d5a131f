package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/gonutch/crawler/sdk/fault"
)

// Settings are a plugin's effective settings, already checked against its
// manifest, with the manifest's defaults filled in. Durations and sizes are
// texts with units ("5s", "1MiB"); decode them into setting.Duration and
// setting.Size.
type Settings struct {
	Own      json.RawMessage            `json:"own"`      // the plugin "<id>" block, an object
	Sections map[string]json.RawMessage `json:"sections"` // the core sections that the manifest lists
}

// Decode decodes the plugin's own settings into the struct v points at, by the
// json tags of its fields. Unknown keys are errors.
func (s Settings) Decode(v any) error { return decode("settings", s.Own, v, true) }

// Section decodes a section of the core's configuration that the manifest
// lists, such as "http". Keys that v does not have are ignored.
func (s Settings) Section(name string, v any) error {
	raw, ok := s.Sections[name]
	if !ok {
		return fault.Errorf(fault.Invalid, "section %q: not listed in the manifest's sections", name)
	}
	return decode("section "+name, raw, v, false)
}

func decode(what string, raw json.RawMessage, v any, strict bool) error {
	if len(raw) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(v); err != nil {
		return fault.New(fault.Invalid, fmt.Errorf("decode %s: %w", what, err))
	}
	return nil
}
