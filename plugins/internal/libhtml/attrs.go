package libhtml

import "bytes"

// attr numbers the attributes the sink looks at.
type attr uint8

const (
	aNone attr = iota
	aHref
	aSrc
	aData
	aAction
	aMethod
	aRel
	aAlt
	aName
	aProperty
	aHTTPEquiv
	aContent
	aLang
	aXMLLang
	aType
	aTitle
	aSrcset
	aImageSrcset
	aHreflang
	aDataSrc
	aDataHref
	aDataURL
	aDataSrcset
	aDataOriginal
	aDataLazySrc
	nAttrs
)

// attrs are the attributes of one start tag: the first of each name.
type attrs struct {
	has     uint32 // bit i: attribute i is there
	decoded bool   // values are final; else as written in the page
	val     [nAttrs][]byte
}

func (a *attrs) reset() { a.has = 0 }

func (a *attrs) put(id attr, val []byte) {
	if id != aNone && a.has&(1<<id) == 0 {
		a.has |= 1 << id
		a.val[id] = val
	}
}

// get returns the decoded value of id and whether the tag has it. The value
// may be part of the page's bytes and must not be changed.
func (a *attrs) get(id attr) ([]byte, bool) {
	if a.has&(1<<id) == 0 {
		return nil, false
	}
	v := a.val[id]
	if a.decoded || bytes.IndexByte(v, '&') < 0 && bytes.IndexByte(v, '\r') < 0 {
		return v, true
	}
	return decodeAttr(v), true
}

func decodeAttr(v []byte) []byte {
	out := make([]byte, 0, len(v)+8)
	for i := 0; i < len(v); {
		switch v[i] {
		case '&':
			var n int
			out, n = decodeEntity(out, v[i:], true)
			i += n
		case '\r':
			out = append(out, '\n')
			i++
			if i < len(v) && v[i] == '\n' {
				i++
			}
		default:
			out = append(out, v[i])
			i++
		}
	}
	return out
}

// attrByName returns the number of an attribute name in any ASCII case.
func attrByName(name []byte) attr {
	switch len(name) {
	case 3:
		return pick(name, "src", aSrc, "rel", aRel, "alt", aAlt)
	case 4:
		if name[0]|0x20 == 'h' {
			return pick(name, "href", aHref, "", aNone, "", aNone)
		}
		if name[0]|0x20 == 'l' {
			return pick(name, "lang", aLang, "", aNone, "", aNone)
		}
		return pick(name, "name", aName, "type", aType, "data", aData)
	case 5:
		return pick(name, "title", aTitle, "", aNone, "", aNone)
	case 6:
		return pick(name, "action", aAction, "method", aMethod, "srcset", aSrcset)
	case 7:
		return pick(name, "content", aContent, "", aNone, "", aNone)
	case 8:
		if name[0]|0x20 == 'd' {
			return pick(name, "data-src", aDataSrc, "data-url", aDataURL, "", aNone)
		}
		return pick(name, "property", aProperty, "xml:lang", aXMLLang, "hreflang", aHreflang)
	case 9:
		return pick(name, "data-href", aDataHref, "", aNone, "", aNone)
	case 10:
		return pick(name, "http-equiv", aHTTPEquiv, "", aNone, "", aNone)
	case 11:
		return pick(name, "data-srcset", aDataSrcset, "imagesrcset", aImageSrcset, "", aNone)
	case 13:
		return pick(name, "data-original", aDataOriginal, "data-lazy-src", aDataLazySrc, "", aNone)
	}
	return aNone
}

func pick(name []byte, s1 string, a1 attr, s2 string, a2 attr, s3 string, a3 attr) attr {
	switch {
	case foldEqual(name, s1):
		return a1
	case s2 != "" && foldEqual(name, s2):
		return a2
	case s3 != "" && foldEqual(name, s3):
		return a3
	}
	return aNone
}
