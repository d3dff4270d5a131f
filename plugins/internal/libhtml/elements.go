package libhtml

// elem is the number of an element name the parser treats specially; unknown
// stands for every other name.
type elem uint8

const (
	unknown elem = iota
	eA
	eAbbr
	eAddress
	eApplet
	eArea
	eArticle
	eAside
	eAudio
	eB
	eBase
	eBasefont
	eBgsound
	eBig
	eBlockquote
	eBody
	eBr
	eButton
	eCanvas
	eCaption
	eCenter
	eCode
	eCol
	eColgroup
	eDd
	eDetails
	eDialog
	eDir
	eDiv
	eDl
	eDt
	eEm
	eEmbed
	eFieldset
	eFigcaption
	eFigure
	eFont
	eFooter
	eForm
	eFrame
	eFrameset
	eH1
	eH2
	eH3
	eH4
	eH5
	eH6
	eHead
	eHeader
	eHgroup
	eHr
	eHtml
	eI
	eIframe
	eImage
	eImg
	eInput
	eKeygen
	eLi
	eLink
	eListing
	eMain
	eMarquee
	eMath
	eMenu
	eMeta
	eNav
	eNobr
	eNoembed
	eNoframes
	eNoscript
	eObject
	eOl
	eOptgroup
	eOption
	eOutput
	eP
	eParam
	ePlaintext
	ePre
	eRb
	eRp
	eRt
	eRtc
	eRuby
	eS
	eScript
	eSearch
	eSection
	eSelect
	eSmall
	eSource
	eSpan
	eStrike
	eStrong
	eStyle
	eSub
	eSummary
	eSup
	eSvg
	eTable
	eTbody
	eTd
	eTemplate
	eTextarea
	eTfoot
	eTh
	eThead
	eTitle
	eTr
	eTrack
	eTt
	eU
	eUl
	eVar
	eVideo
	eWbr
	eXmp
	nElems
)

// elemNames returns the lower-case names by elem.
func elemNames() [nElems]string {
	return [nElems]string{
		eA:          "a",
		eAbbr:       "abbr",
		eAddress:    "address",
		eApplet:     "applet",
		eArea:       "area",
		eArticle:    "article",
		eAside:      "aside",
		eAudio:      "audio",
		eB:          "b",
		eBase:       "base",
		eBasefont:   "basefont",
		eBgsound:    "bgsound",
		eBig:        "big",
		eBlockquote: "blockquote",
		eBody:       "body",
		eBr:         "br",
		eButton:     "button",
		eCanvas:     "canvas",
		eCaption:    "caption",
		eCenter:     "center",
		eCode:       "code",
		eCol:        "col",
		eColgroup:   "colgroup",
		eDd:         "dd",
		eDetails:    "details",
		eDialog:     "dialog",
		eDir:        "dir",
		eDiv:        "div",
		eDl:         "dl",
		eDt:         "dt",
		eEm:         "em",
		eEmbed:      "embed",
		eFieldset:   "fieldset",
		eFigcaption: "figcaption",
		eFigure:     "figure",
		eFont:       "font",
		eFooter:     "footer",
		eForm:       "form",
		eFrame:      "frame",
		eFrameset:   "frameset",
		eH1:         "h1",
		eH2:         "h2",
		eH3:         "h3",
		eH4:         "h4",
		eH5:         "h5",
		eH6:         "h6",
		eHead:       "head",
		eHeader:     "header",
		eHgroup:     "hgroup",
		eHr:         "hr",
		eHtml:       "html",
		eI:          "i",
		eIframe:     "iframe",
		eImage:      "image",
		eImg:        "img",
		eInput:      "input",
		eKeygen:     "keygen",
		eLi:         "li",
		eLink:       "link",
		eListing:    "listing",
		eMain:       "main",
		eMarquee:    "marquee",
		eMath:       "math",
		eMenu:       "menu",
		eMeta:       "meta",
		eNav:        "nav",
		eNobr:       "nobr",
		eNoembed:    "noembed",
		eNoframes:   "noframes",
		eNoscript:   "noscript",
		eObject:     "object",
		eOl:         "ol",
		eOptgroup:   "optgroup",
		eOption:     "option",
		eOutput:     "output",
		eP:          "p",
		eParam:      "param",
		ePlaintext:  "plaintext",
		ePre:        "pre",
		eRb:         "rb",
		eRp:         "rp",
		eRt:         "rt",
		eRtc:        "rtc",
		eRuby:       "ruby",
		eS:          "s",
		eScript:     "script",
		eSearch:     "search",
		eSection:    "section",
		eSelect:     "select",
		eSmall:      "small",
		eSource:     "source",
		eSpan:       "span",
		eStrike:     "strike",
		eStrong:     "strong",
		eStyle:      "style",
		eSub:        "sub",
		eSummary:    "summary",
		eSup:        "sup",
		eSvg:        "svg",
		eTable:      "table",
		eTbody:      "tbody",
		eTd:         "td",
		eTemplate:   "template",
		eTextarea:   "textarea",
		eTfoot:      "tfoot",
		eTh:         "th",
		eThead:      "thead",
		eTitle:      "title",
		eTr:         "tr",
		eTrack:      "track",
		eTt:         "tt",
		eU:          "u",
		eUl:         "ul",
		eVar:        "var",
		eVideo:      "video",
		eWbr:        "wbr",
		eXmp:        "xmp",
	}
}

// kind groups elements whose start tags the body rules treat alike.
type kind uint8

const (
	kOrdinary kind = iota
	kBlock
	kHeading
	kPre
	kForm
	kItem
	kPlaintext
	kButton
	kAnchor
	kFormat
	kNobr
	kMarked
	kTable
	kVoid
	kInput
	kVoidPlain
	kHr
	kTextarea
	kXmp
	kSkipRaw
	kNoscript
	kSelect
	kOption
	kRuby
	kForeign
	kTablePart
	kIgnore
	kHTML
	kBody
	kFrameset
	kHead
)

// elemKinds returns the kind of each elem.
func elemKinds() [nElems]kind {
	return [nElems]kind{
		eA:          kAnchor,
		eAddress:    kBlock,
		eApplet:     kMarked,
		eArea:       kVoid,
		eArticle:    kBlock,
		eAside:      kBlock,
		eB:          kFormat,
		eBase:       kHead,
		eBasefont:   kHead,
		eBgsound:    kHead,
		eBig:        kFormat,
		eBlockquote: kBlock,
		eBody:       kBody,
		eBr:         kVoid,
		eButton:     kButton,
		eCaption:    kTablePart,
		eCenter:     kBlock,
		eCode:       kFormat,
		eCol:        kTablePart,
		eColgroup:   kTablePart,
		eDd:         kItem,
		eDetails:    kBlock,
		eDialog:     kBlock,
		eDir:        kBlock,
		eDiv:        kBlock,
		eDl:         kBlock,
		eDt:         kItem,
		eEm:         kFormat,
		eEmbed:      kVoid,
		eFieldset:   kBlock,
		eFigcaption: kBlock,
		eFigure:     kBlock,
		eFont:       kFormat,
		eFooter:     kBlock,
		eForm:       kForm,
		eFrame:      kIgnore,
		eFrameset:   kFrameset,
		eH1:         kHeading,
		eH2:         kHeading,
		eH3:         kHeading,
		eH4:         kHeading,
		eH5:         kHeading,
		eH6:         kHeading,
		eHead:       kIgnore,
		eHeader:     kBlock,
		eHgroup:     kBlock,
		eHr:         kHr,
		eHtml:       kHTML,
		eI:          kFormat,
		eIframe:     kSkipRaw,
		eImage:      kVoid,
		eImg:        kVoid,
		eInput:      kInput,
		eKeygen:     kVoid,
		eLi:         kItem,
		eLink:       kHead,
		eListing:    kPre,
		eMain:       kBlock,
		eMarquee:    kMarked,
		eMath:       kForeign,
		eMenu:       kBlock,
		eMeta:       kHead,
		eNav:        kBlock,
		eNobr:       kNobr,
		eNoembed:    kSkipRaw,
		eNoframes:   kHead,
		eNoscript:   kNoscript,
		eObject:     kMarked,
		eOl:         kBlock,
		eOptgroup:   kOption,
		eOption:     kOption,
		eP:          kBlock,
		eParam:      kVoidPlain,
		ePlaintext:  kPlaintext,
		ePre:        kPre,
		eRb:         kRuby,
		eRp:         kRuby,
		eRt:         kRuby,
		eRtc:        kRuby,
		eS:          kFormat,
		eScript:     kHead,
		eSearch:     kBlock,
		eSection:    kBlock,
		eSelect:     kSelect,
		eSmall:      kFormat,
		eSource:     kVoidPlain,
		eStrike:     kFormat,
		eStrong:     kFormat,
		eStyle:      kHead,
		eSummary:    kBlock,
		eSvg:        kForeign,
		eTable:      kTable,
		eTbody:      kTablePart,
		eTd:         kTablePart,
		eTemplate:   kHead,
		eTextarea:   kTextarea,
		eTfoot:      kTablePart,
		eTh:         kTablePart,
		eThead:      kTablePart,
		eTitle:      kHead,
		eTr:         kTablePart,
		eTrack:      kVoidPlain,
		eTt:         kFormat,
		eU:          kFormat,
		eUl:         kBlock,
		eWbr:        kVoid,
		eXmp:        kXmp,
	}
}
