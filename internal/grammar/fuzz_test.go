package grammar

import "testing"

// FuzzParse: any text is a grammar or an error, within bounds; a grammar prints
// as one that reads back.
func FuzzParse(f *testing.F) {
	f.Add("root ::= \"a\" | [b-d]{2,3} x*\nx ::= (root \"y\")? # end")
	f.Add(`root ::= [^"\\\x00-\x1F] . "é"+`)
	for _, s := range fixedRules {
		f.Add(s)
	}
	v := NewVocabulary(oneByte(), nil, false)
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 1<<12 {
			return
		}
		g, err := Parse(nil, source)
		if err != nil {
			return
		}
		back, err := Parse(nil, g.String())
		if err != nil {
			t.Fatalf("%v:\n%s", err, g)
		}
		if len(back.net.nodes) > 1<<12 {
			return
		}
		if a, err := v.Compile(nil, back); err == nil {
			_, _ = a.Accepts(source)
		}
	})
}

// FuzzSchema: any bytes are a schema or an error, within bounds.
func FuzzSchema(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"},"é":{"enum":[1,"x",null]}},"required":["a"],"$defs":{"b":{"type":["array","null"],"items":{"$ref":"#"},"minItems":1,"maxItems":3}}}`))
	f.Add([]byte(`{"oneOf":[{"type":"string","pattern":"^a+$"},{"type":"number","minimum":-1.5,"exclusiveMaximum":20}]}`))
	f.Add([]byte(`{"patternProperties":{"^a":{"not":{"type":"string"}},"b$":{"multipleOf":0.5}},"propertyNames":{"maxLength":3},"minProperties":1}`))
	f.Add([]byte(`{"if":{"properties":{"k":{"const":1}},"required":["k"]},"then":{"required":["v"]},"else":{"dependentRequired":{"a":["b"]}},"unevaluatedProperties":false}`))
	f.Add([]byte(`{"type":"array","uniqueItems":true,"items":{"enum":[1,2,"x"]},"contains":{"const":2},"maxContains":1}`))
	f.Add([]byte(`{"oneOf":[{"minLength":2,"pattern":"^(?!a)\\S+$"},{"format":"date","maxLength":9},{"not":{"multipleOf":3}}]}`))
	f.Add([]byte(`{"anyOf":[{"const":{"a":[1,2]}},{"format":"date-time"}],"minLength":2,"prefixItems":[true,false]}`))
	v := NewVocabulary(oneByte(), nil, false)
	f.Fuzz(func(t *testing.T, source []byte) {
		if len(source) > 1<<12 {
			return
		}
		g, err := FromSchema(nil, source)
		if err != nil || len(g.net.nodes) > 1<<12 {
			return
		}
		if a, err := v.Compile(nil, g); err == nil {
			_, _ = a.Accepts(string(source))
		}
	})
}
