package parsejs

import (
	"bytes"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"

	"github.com/gonutch/crawler/plugins/internal/libparse"
)

// finder finds the texts in scripts that are URLs or paths. Nutch takes every
// quoted text with a slash or dot in it; here a text counts only when it is whole (not
// put together with "+" or "${}") and looks like nothing but an address, because most
// texts with slashes in scripts are MIME types, dates, patterns and messages.
type finder struct {
	links    *libparse.Links
	relative bool
}

// maxLiteral bounds a text that is looked at.
const maxLiteral = 2048

// script looks through a piece of JavaScript or JSON.
func (f *finder) script(src []byte) {
	lex := js.NewLexer(parse.NewInputBytes(readable(src)))
	var held string // a text that counts unless "+" follows
	var plus bool   // the last token was "+"
	operand := true // a "/" here starts a regular expression
	errors := 0     // an unreadable script is given up
	for {
		kind, data := lex.Next()
		if kind == js.DivToken || kind == js.DivEqToken {
			if operand {
				if kind, data = lex.RegExp(); kind == js.ErrorToken { // it has read to the end
					f.take(held)
					return
				}
			}
		}
		switch kind {
		case js.WhitespaceToken, js.LineTerminatorToken, js.CommentToken, js.CommentLineTerminatorToken:
			continue
		case js.ErrorToken:
			f.take(held)
			held = ""
			if errors++; len(data) == 0 || errors > 100 {
				return
			}
			continue
		}
		if kind != js.AddToken {
			f.take(held)
		}
		held = ""
		if kind == js.StringToken || kind == js.TemplateToken {
			if !plus && len(data) >= 2 && len(data) <= maxLiteral {
				held = string(data)
			}
		}
		plus = kind == js.AddToken
		operand = startsOperand(kind)
	}
}

// readable returns src as the lexer wants it: UTF-8, no NUL, which ends it, and room
// at the end, which it reads over after some mistakes.
func readable(src []byte) []byte {
	out := make([]byte, 0, len(src)+8)
	out = append(out, src...)
	if !utf8.Valid(out) {
		out = bytes.ToValidUTF8(out, []byte{' '})
	}
	for i, c := range out {
		if c == 0 {
			out[i] = ' '
		}
	}
	return append(out, "\n\n\n\n\n\n\n\n"...)
}

// startsOperand reports whether an operand follows the token, so that "/" starts a
// regular expression.
func startsOperand(kind js.TokenType) bool {
	switch kind {
	case js.StringToken, js.TemplateToken, js.TemplateEndToken, js.RegExpToken, js.CloseParenToken, js.CloseBracketToken, js.CloseBraceToken,
		js.ThisToken, js.NullToken, js.TrueToken, js.FalseToken, js.SuperToken, js.IncrToken, js.DecrToken:
		return false
	}
	return !js.IsIdentifier(kind) && !js.IsNumeric(kind)
}

// take adds a literal, with its quotes, when it is an address.
func (f *finder) take(literal string) {
	if literal == "" {
		return
	}
	s := unquote(literal[1 : len(literal)-1])
	if strings.HasPrefix(s, "//") && hostLike(s[2:]) {
		f.links.Add(s, "")
		return
	}
	if f.address(s) {
		f.links.Add(s, "")
	}
}

// address reports whether s looks like nothing but a URL or a path.
func (f *finder) address(s string) bool {
	if len(s) < 3 || !plain(s) {
		return false
	}
	lower := strings.ToLower(s)
	switch {
	case strings.HasPrefix(lower, "http://"):
		return hostLike(s[7:]) && !namespace(lower)
	case strings.HasPrefix(lower, "https://"):
		return hostLike(s[8:])
	case strings.HasPrefix(s, "//"), strings.Contains(s, "//"), strings.Contains(s, ":"):
		return false
	case s[0] == '/':
		return isWord(s[1]) && !strings.HasSuffix(s, "/i") && !strings.HasSuffix(s, "/g")
	case !f.relative:
		return false
	}
	return pageLike(s)
}

// plain reports whether all characters of s can be in a URL as people write it.
func plain(s string) bool {
	for _, c := range s {
		switch {
		case c <= ' ', c == 0x7f, c == utf8.RuneError, strings.ContainsRune("\"'`<>{}[]|\\^*$(),;!@", c):
			return false
		}
	}
	return true
}

func isWord(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '~' || c == '.' || c == '%' || c >= 0x80
}

// hostLike reports whether s starts with a host that has a dot, or is localhost.
func hostLike(s string) bool {
	host := s
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		host = s[:i]
	}
	u, err := url.Parse("http://" + host + "/")
	if err != nil || u.Hostname() == "" || u.User != nil {
		return false
	}
	h := strings.Trim(u.Hostname(), ".")
	i := strings.LastIndexByte(h, '.')
	return h == "localhost" || !strings.Contains(h, "..") && (strings.Contains(h, ":") || i > 0 && i < len(h)-1 && plain(s))
}

// namespace reports whether a URL is the name of an XML vocabulary, which scripts
// are full of and nobody can visit.
func namespace(lower string) bool {
	for _, p := range []string{"http://www.w3.org/1998/", "http://www.w3.org/1999/", "http://www.w3.org/2000/", "http://www.w3.org/xml/", "http://schemas.", "http://purl.org/", "http://ns.adobe.com/"} {
		if strings.HasPrefix(lower, p) {
			return true
		}
	}
	return false
}

// pageLike reports whether a relative reference ends in a name of a page or
// document.
func pageLike(s string) bool {
	p, _, _ := strings.Cut(s, "#")
	p, _, _ = strings.Cut(p, "?")
	for strings.HasPrefix(p, "../") || strings.HasPrefix(p, "./") {
		_, p, _ = strings.Cut(p, "/")
	}
	ext := path.Ext(p)
	if p == "" || len(p) == len(ext) || !isWord(p[0]) || p[0] == '.' {
		return false
	}
	switch strings.ToLower(ext) {
	case ".html", ".htm", ".xhtml", ".shtml", ".php", ".asp", ".aspx", ".jsp", ".jspx", ".do", ".cgi", ".pl", ".cfm", ".pdf", ".xml", ".rss", ".atom",
		".doc", ".docx", ".xls", ".xlsx", ".ppt", ".pptx", ".odt", ".ods", ".txt":
		return true
	}
	return false
}

// unquote resolves the escapes of a JavaScript or JSON literal. What it doesn't know
// stays as it is, and then is no address.
func unquote(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		var n int
		switch s[i] {
		case 'x':
			n = 2
		case 'u':
			n = 4
		case '/', '\\', '"', '\'', '`', '-', '.', '?', '&', '=':
			b.WriteByte(s[i])
			continue
		default:
			b.WriteString("\\" + s[i:i+1])
			continue
		}
		if i+n >= len(s) {
			b.WriteByte('\\')
			continue
		}
		c, err := strconv.ParseUint(s[i+1:i+1+n], 16, 32)
		if err != nil {
			b.WriteByte('\\')
			continue
		}
		b.WriteRune(rune(c)) //nolint:gosec // at most four hex digits
		i += n
	}
	return b.String()
}
