package libhtml

import "bytes"

// scriptState is a state of the script data part of the tokenizer (HTML
// standard, sections 13.2.5.4 and 13.2.5.15 to 13.2.5.31).
type scriptState uint8

const (
	scriptData scriptState = iota
	scriptEscaped
	scriptDoubleEscaped
)

// scriptEnd returns the offset of the "</script" that ends the script starting
// at i, or len(src). Inside "<!--" the old rules for hidden scripts hold: a
// "<script" there hides the next "</script".
func (l *lexer) scriptEnd(i int) int {
	end := l.rawEnd(i, "script")
	j := bytes.Index(l.src[i:end], []byte("<!--"))
	if j < 0 {
		return end
	}
	return l.escapedScriptEnd(i + j)
}

func (l *lexer) escapedScriptEnd(i int) int {
	src := l.src
	state, dashes := scriptData, 0
	for i < len(src) {
		c := src[i]
		i++
		if c != '<' {
			switch {
			case state == scriptData:
			case c == '-':
				dashes++
				continue
			case c == '>' && dashes >= 2:
				state = scriptData
			}
			dashes = 0
			continue
		}
		dashes = 0
		switch state {
		case scriptData:
			switch {
			case i < len(src) && src[i] == '/' && l.isRawEnd(i+1, "script"):
				return i - 1
			case l.hasFold(i, "!--"):
				i += 3
				state, dashes = scriptEscaped, 2
			}
		case scriptEscaped:
			switch {
			case i >= len(src):
			case src[i] == '/':
				if l.isRawEnd(i+1, "script") {
					return i - 1
				}
				i++
			case isAlpha(src[i]):
				if l.isRawEnd(i, "script") {
					state = scriptDoubleEscaped
					i += len("script") + 1
				}
			default:
				state = scriptData // x/net/html leaves the escaped state here
			}
		case scriptDoubleEscaped:
			if i < len(src) && src[i] == '/' {
				i++
				if l.isRawEnd(i, "script") {
					i += len("script") + 1
					state = scriptEscaped
				}
			}
		}
	}
	return len(src)
}
