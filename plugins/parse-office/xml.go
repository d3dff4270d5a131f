package parseoffice

import "encoding/xml"

// relID returns the relationship that an element names (r:id); attributes called
// id without a prefix are something else.
func relID(attrs []xml.Attr) string {
	for _, a := range attrs {
		if a.Name.Local == "id" && a.Name.Space != "" {
			return a.Value
		}
	}
	return ""
}
