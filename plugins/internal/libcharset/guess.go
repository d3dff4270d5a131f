package libcharset

import (
	"github.com/saintfish/chardet"
	"golang.org/x/text/encoding"
)

// guessBytes is how much of a document is looked at.
const guessBytes = 64 << 10

// guess returns the charset that the bytes look most like, by letter and byte
// pair statistics (the library is a port of ICU's detector).
func guess(body []byte, html bool, minConfidence int) (string, encoding.Encoding, bool) {
	d := chardet.NewTextDetector()
	if html {
		d = chardet.NewHtmlDetector()
	}
	best, err := d.DetectBest(body[:min(len(body), guessBytes)])
	if err != nil || best.Confidence < minConfidence {
		return "", nil, false
	}
	name, enc, ok := lookup(guessed(best, body))
	if !ok || name == "utf-8" { // it is not: that was checked before
		return "", nil, false
	}
	return name, enc, true
}

// guessed returns the label of the detector's answer. It takes languages that
// ISO 8859-1 can't write for ones it can; their letters are in 8859-2 and, with
// bytes from 0x80 to 0x9f, in windows-1250.
func guessed(best *chardet.Result, body []byte) string {
	switch best.Charset {
	case "GB-18030":
		return "gb18030"
	case "ISO-8859-1", "windows-1252":
		switch best.Language {
		case "cs", "hu", "pl", "ro":
			for _, c := range body {
				if 0x80 <= c && c <= 0x9f {
					return "windows-1250"
				}
			}
			return "iso-8859-2"
		}
	}
	return best.Charset
}
