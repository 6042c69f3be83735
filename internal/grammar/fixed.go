package grammar

// fixedRules are the texts of JSON that do not depend on a schema, and of the
// formats, in GBNF. Formats are narrower than their standards where those allow
// what few programs read: every text is valid, not every valid text is there.
var fixedRules = map[string]string{
	"space":   `root ::= " "?`,
	"string":  `root ::= "\"" (` + plainChar + ` | "\\" esc)* "\""` + "\n" + escRule,
	"escape":  `root ::= ["\\/bfnrt] | "u" ([0-9a-cA-CefEF] hex hex hex | [dD] [0-7] hex hex)` + "\n" + `hex ::= [0-9a-fA-F]`,
	"integer": `root ::= "-"? ("0" | [1-9] [0-9]{0,17})`,
	"number":  `root ::= "-"? ("0" | [1-9] [0-9]{0,17}) ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?`,
	// The rest of the name of a member, each character in its usual form.
	"name": `root ::= (` + plainChar + ` | "\\" ["\\bfnrt])*`,

	"date":      `root ::= "\"" date "\""` + "\n" + dateRule,
	"time":      `root ::= "\"" time "\""` + "\n" + timeRule,
	"date-time": `root ::= "\"" date "T" time "\""` + "\n" + dateRule + timeRule,
	"uuid": `root ::= "\"" hex{8} "-" hex{4} "-" hex{4} "-" hex{4} "-" hex{12} "\""
hex ::= [0-9a-f]`,
	"ipv4": `root ::= "\"" byte ("." byte){3} "\""
byte ::= [0-9] | [1-9] [0-9] | "1" [0-9] [0-9] | "2" ([0-4] [0-9] | "5" [0-5])`,
	"ipv6": `root ::= "\"" word (":" word){7} "\""
word ::= [0-9a-f]{1,4}`,
	"hostname": `root ::= "\"" label ("." label){0,3} "\"" ` + "\n" + labelRule,
	"email": `root ::= "\"" [a-zA-Z0-9]{1,24} ([._+-] [a-zA-Z0-9]{1,16}){0,2} "@" label ("." label){1,3} "\""
` + labelRule,
	"uri": `root ::= "\"" "http" "s"? "://" label ("." label){1,3} ("/" [a-zA-Z0-9._~-]{0,64}){0,8} ("?" [a-zA-Z0-9=&_-]{0,128})? "\""
` + labelRule,
	"duration": `root ::= "\"" "P" (n "D" | n "W" | (n "D")? "T" (n "H" (n "M" (n "S")?)? | n "M" (n "S")? | n "S")) "\""
n ::= "0" | [1-9] [0-9]{0,5}`,
}

const (
	plainChar = `[ !#-\x5B\x5D-\U0010FFFF]`
	escRule   = `esc ::= ["\\/bfnrt] | "u" ([0-9a-cA-CefEF] hex hex hex | [dD] [0-7] hex hex)
hex ::= [0-9a-fA-F]
`
	dateRule = `date ::= [0-9]{4} "-" ("0" [13578] | "10" | "12") "-" ("0" [1-9] | [12] [0-9] | "3" [01]) |
  [0-9]{4} "-" ("0" [469] | "11") "-" ("0" [1-9] | [12] [0-9] | "30") |
  [0-9]{4} "-02-" ("0" [1-9] | "1" [0-9] | "2" [0-8]) |
  ([0-9]{2} ("0" [48] | [2468] [048] | [13579] [26]) | ([02468] [048] | [13579] [26]) "00") "-02-29"
`
	timeRule = `time ::= hour ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,9})? ("Z" | [+-] hour ":" [0-5] [0-9])
hour ::= [01] [0-9] | "2" [0-3]
`
	labelRule = `label ::= [a-zA-Z0-9]{1,12} ("-" [a-zA-Z0-9]{1,12})?
`
)

// formats are the formats of the table above.
var formats = map[string]bool{
	"date": true, "time": true, "date-time": true, "uuid": true, "ipv4": true, "ipv6": true,
	"hostname": true, "email": true, "uri": true, "duration": true,
}
