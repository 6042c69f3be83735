package grammar

// A format is what "format" asserts about a string.
type format struct {
	pattern string // of the strings that are written
	exact   bool   // it has all strings of the format, not only some
}

// Parts of formats.
const (
	dateForm = `(?:\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))` +
		`|(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)`
	timeForm  = `(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)`
	labelForm = `[a-zA-Z0-9](?:-?[a-zA-Z0-9]){0,14}` // at most 29 characters, so that eight have less than 253
	hostForm  = labelForm + `(?:\.` + labelForm + `){0,7}`
	atomForm  = "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]{1,20}"
	byteForm  = `(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])`
	ipv4Form  = byteForm + `(?:\.` + byteForm + `){3}`
	wordForm  = `[0-9a-fA-F]{1,4}`
	ipv6Form  = `(?:` + wordForm + `(?::` + wordForm + `){7}|(?:` + wordForm + `:){1,7}:|(?:` + wordForm + `:){1,6}:` + wordForm +
		`|(?:` + wordForm + `:){1,5}(?::` + wordForm + `){1,2}|(?:` + wordForm + `:){1,4}(?::` + wordForm + `){1,3}|(?:` + wordForm + `:){1,3}(?::` + wordForm + `){1,4}` +
		`|(?:` + wordForm + `:){1,2}(?::` + wordForm + `){1,5}|` + wordForm + `:(?::` + wordForm + `){1,6}|::(?:` + wordForm + `(?::` + wordForm + `){0,6})?)`
	// Of RFC 3986; a host that is an address of IPv6 is left out.
	pcharForm  = `(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})`
	authForm   = `//(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*(?::\d*)?(?:/` + pcharForm + `*)*`
	absForm    = `/(?:` + pcharForm + `+(?:/` + pcharForm + `*)*)?`
	tailForm   = `(?:\?(?:` + pcharForm + `|[/?])*)?(?:#(?:` + pcharForm + `|[/?])*)?`
	uriForm    = `[A-Za-z][A-Za-z0-9+.-]*:(?:` + authForm + `|` + absForm + `|` + pcharForm + `+(?:/` + pcharForm + `*)*)` + tailForm
	noColon    = `(?:[A-Za-z0-9._~!$&'()*+,;=@-]|%[0-9A-Fa-f]{2})`
	refForm    = `(?:` + uriForm + `|(?:` + authForm + `|` + absForm + `|` + noColon + `+(?:/` + pcharForm + `*)*|)` + tailForm + `)`
	countForm  = `\d{1,9}`
	daysForm   = `(?:` + countForm + `D|` + countForm + `M(?:` + countForm + `D)?|` + countForm + `Y(?:` + countForm + `M(?:` + countForm + `D)?)?)`
	hoursForm  = `(?:` + countForm + `S|` + countForm + `M(?:` + countForm + `S)?|` + countForm + `H(?:` + countForm + `M(?:` + countForm + `S)?)?)`
	mailForm   = atomForm + `(?:\.` + atomForm + `){0,2}@` + hostForm
	partForm   = `(?:[^\\()[\]{}*+?|^$/]|\\[dDwWsStnrfv.\\()[\]{}*+?|^$/]|\[\^?(?:[a-zA-Z0-9_.,:; ]|a-z|A-Z|0-9|\\[dws])+\])(?:[*+?]|\{[1-9](?:,[1-9]\d)?\})?`
	memberForm = `(?:[^~/]|~[01])*`
	varForm    = `\{[+#./;?&]?[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*(?:\*|:[1-9]\d{0,3})?(?:,[A-Za-z0-9_]+(?:\*|:[1-9]\d{0,3})?)*\}`
)

// formats are those of draft 2020-12 and of earlier ones that are strings. Any other name
// is an annotation, as the standard says.
var formats = map[string]format{
	"date":                  {"^" + dateForm + "$", true},
	"time":                  {"^" + timeForm + "$", false},
	"date-time":             {"^" + dateForm + "[Tt]" + timeForm + "$", false},
	"duration":              {`^P(?:` + countForm + `W|` + daysForm + `(?:T` + hoursForm + `)?|T` + hoursForm + `)$`, false},
	"uuid":                  {`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`, true},
	"ipv4":                  {"^" + ipv4Form + "$", true},
	"ip-address":            {"^" + ipv4Form + "$", true},
	"ipv6":                  {"^" + ipv6Form + "$", false},
	"hostname":              {"^" + hostForm + "$", false},
	"host-name":             {"^" + hostForm + "$", false},
	"idn-hostname":          {"^" + hostForm + "$", false},
	"email":                 {"^" + mailForm + "$", false},
	"idn-email":             {"^" + mailForm + "$", false},
	"uri":                   {"^" + uriForm + "$", false},
	"iri":                   {"^" + uriForm + "$", false},
	"uri-reference":         {"^" + refForm + "$", false},
	"iri-reference":         {"^" + refForm + "$", false},
	"uri-template":          {`^(?:[A-Za-z0-9._~!$&()*+,;=:@/?#-]|%[0-9A-Fa-f]{2}|` + varForm + `)*$`, false},
	"json-pointer":          {"^(?:/" + memberForm + ")*$", true},
	"relative-json-pointer": {"^(?:0|[1-9][0-9]*)(?:#|(?:/" + memberForm + ")*)$", true},
	"regex":                 {`^\^?(?:` + partForm + `|\((?:\?:)?` + partForm + `(?:\|?` + partForm + `)*\)[*+?]?)*\$?$`, false},
}
