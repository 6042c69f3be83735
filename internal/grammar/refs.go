package grammar

import (
	"net/url"
	"strconv"
	"strings"
)

// places is where references lead: schemas by their addresses, with which $id begins anew
// for what is inside, and by their names.
type places struct {
	base     map[*value]*url.URL // of each reference
	resource map[string]*value   // by address
	anchors  map[string]*value   // by address, "#" and name
	dynamic  map[string]int      // how many have the name of a $dynamicAnchor
	found    map[*value]*value   // by reference
}

func placesOf(root *value) *places {
	p := &places{map[*value]*url.URL{}, map[string]*value{}, map[string]*value{}, map[string]int{}, map[*value]*value{}}
	p.resource[""] = root
	p.index(root, &url.URL{}, true)
	return p
}

// index adds a schema, or with not schema an object of such, and what is inside.
func (p *places) index(v *value, base *url.URL, schema bool) {
	if v.kind == '{' && schema {
		for _, k := range []string{"$id", "id"} {
			id := v.under[k]
			if id == nil || id.kind != '"' || v.under["$ref"] != nil && k == "id" {
				continue
			}
			u, err := base.Parse(id.text)
			if err != nil {
				continue
			}
			if u.Fragment != "" { // a name, until draft 7
				p.name(base, u.Fragment, v)
				continue
			}
			base = u
			if p.resource[address(base)] == nil {
				p.resource[address(base)] = v
			}
			break
		}
		for _, k := range []string{"$anchor", "$dynamicAnchor"} {
			if a := v.under[k]; a != nil && a.kind == '"' {
				p.name(base, a.text, v)
				if k == "$dynamicAnchor" {
					p.dynamic[a.text]++
				}
			}
		}
	}
	for i, x := range v.list {
		inner := true
		if v.kind == '{' && schema {
			switch v.keys[i] {
			case "enum", "const", "default", "examples", "example":
				continue
			case "$ref", "$dynamicRef", "$recursiveRef":
				p.base[x] = base
			case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
				inner = false
			}
		}
		p.index(x, base, inner)
	}
}

func (p *places) name(base *url.URL, name string, v *value) {
	if key := address(base) + "#" + name; p.anchors[key] == nil {
		p.anchors[key] = v
	}
}

// address returns a URL without its fragment.
func address(u *url.URL) string {
	v := *u
	v.Fragment, v.RawFragment = "", ""
	return v.String()
}

// resolve returns the schema that a reference names.
func (c *compiler) resolve(x *value) (*value, error) {
	if v := c.places.found[x]; v != nil {
		return v, nil
	}
	v, err := c.find(x)
	if err == nil {
		c.places.found[x] = v
	}
	return v, err
}

func (c *compiler) find(x *value) (*value, error) {
	if x.kind != '"' {
		return nil, fail(x, "want a reference")
	}
	p := c.places
	base := p.base[x]
	if base == nil {
		base = &url.URL{}
	}
	u, err := base.Parse(x.text)
	if err != nil {
		return nil, fail(x, "bad reference %q", x.text)
	}
	if strings.HasPrefix(x.text, "#") { // Parse leaves out the opaque part of a base
		v := *base
		v.Fragment, v.RawFragment = u.Fragment, ""
		u = &v
	}
	if dynamic := strings.HasSuffix(x.at, "/$dynamicRef") && p.dynamic[u.Fragment] > 1 || strings.HasSuffix(x.at, "/$recursiveRef") && len(p.resource) > 2; dynamic {
		return nil, fail(x, "which of several schemas %q names depends on how it is reached, which is not supported", x.text)
	}
	v := p.resource[address(u)]
	if v == nil {
		return nil, fail(x, "only references inside the schema are supported, not %q", x.text)
	}
	if u.Fragment != "" && u.Fragment[0] != '/' {
		if v := p.anchors[address(u)+"#"+u.Fragment]; v != nil {
			return v, nil
		}
		return nil, fail(x, "there is no anchor %q", u.Fragment)
	}
	if v = v.pointed(u.Fragment); v == nil && x.text[0] == '#' {
		v = c.root.pointed(u.Fragment) // an id that since draft 6 is only a member
	}
	if v == nil {
		return nil, fail(x, "there is nothing at %q", x.text)
	}
	return v, nil
}

// pointed returns the value at a JSON pointer, nil if there is none.
func (v *value) pointed(pointer string) *value {
	for _, key := range strings.Split(pointer, "/")[1:] {
		key = strings.ReplaceAll(strings.ReplaceAll(key, "~1", "/"), "~0", "~")
		var next *value
		switch v.kind {
		case '{':
			next = v.under[key]
		case '[':
			if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(v.list) {
				next = v.list[i]
			}
		}
		if next == nil {
			return nil
		}
		v = next
	}
	return v
}
