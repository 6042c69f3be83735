package grammar

// FromRegex makes a grammar of the texts that a regular expression of ECMA-262 matches whole.
func FromRegex(b *Budget, source string) (*Grammar, error) {
	if len(source) > maxSource {
		return nil, b.spent(&LimitError{What: "bytes", Most: maxSource}, place{})
	}
	d, err := matching(b, "^(?:"+source+")$")
	if err != nil {
		return nil, b.spent(failAt(&value{}, err), place{})
	}
	root := &value{}
	c := newCompiler(b, root)
	c.add("root")
	c.g.rules[0].body = c.emit(d, false, nil)
	if err := c.g.build(b); err != nil {
		if _, ok := err.(*ruleError); ok {
			err = &Error{Why: "no text matches the regular expression"}
		}
		return nil, err
	}
	return &c.g, nil
}
