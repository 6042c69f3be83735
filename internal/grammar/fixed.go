package grammar

// fixedRules are the texts of JSON that do not depend on a schema, in GBNF.
var fixedRules = map[string]string{
	"space":   `root ::= " "?`,
	"string":  `root ::= "\"" (` + plainChar + ` | "\\" esc)* "\""` + "\n" + escRule,
	"escape":  `root ::= ["\\/bfnrt] | "u" ([0-9a-cA-CefEF] hex hex hex | [dD] [0-7] hex hex)` + "\n" + `hex ::= [0-9a-fA-F]`,
	"integer": `root ::= "-"? ("0" | [1-9] [0-9]{0,17})`,
	"number":  `root ::= "-"? ("0" | [1-9] [0-9]{0,17}) ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?`,
	// The rest of the name of a member, each character in its usual form.
	"name": `root ::= (` + plainChar + ` | "\\" ["\\bfnrt])*`,
}

const (
	plainChar = `[ !#-\x5B\x5D-\U0010FFFF]`
	escRule   = `esc ::= ["\\/bfnrt] | "u" ([0-9a-cA-CefEF] hex hex hex | [dD] [0-7] hex hex)
hex ::= [0-9a-fA-F]
`
)
