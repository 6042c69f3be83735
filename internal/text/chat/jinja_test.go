package chat_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"atenia/internal/text/chat"
)

// A jinjaTable is one file of testdata/jinja: templates with the answers of
// Jinja, as transformers sets it up; generate.py writes it.
type jinjaTable struct {
	Now       []int           // of the clock of every row
	Names     []string        // what Jinja or Python has of this kind
	Variables json.RawMessage // of every row
	Rows      []jinjaRow

	decoded chat.Value // Variables, which no template can change
}

// A jinjaRow is one template. Its name is that of its subject and a number.
type jinjaRow struct {
	Name, Template string
	Variables      json.RawMessage // besides those of the table
	Now            []int           // nil: that of the table
	Want           string
	Assistant      [][2]int
	Error          string // kind; "": none
	Message        string // of raise_exception
}

func (r *jinjaRow) subject() string { return r.Name[:strings.LastIndexByte(r.Name, ' ')] }

func readJinjaTable(t *testing.T, kind string) *jinjaTable {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "jinja", kind+".json"))
	if err != nil {
		t.Fatal(err)
	}
	table := &jinjaTable{}
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(table); err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) == 0 {
		t.Fatalf("no rows about %s", kind)
	}
	if len(table.Variables) > 0 {
		if table.decoded, err = chat.DecodeJSON(table.Variables); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

// context returns the variables for a template: those of the row hide those of
// the table.
func (table *jinjaTable) context(t *testing.T, r *jinjaRow) *chat.Context {
	t.Helper()
	now := table.Now
	if r.Now != nil {
		now = r.Now
	}
	now = append(slices.Clone(now), 0)
	c := &chat.Context{Vars: chat.NewMap(), Now: time.Date(now[0], time.Month(now[1]), now[2], now[3], now[4], now[5], now[6]*1000, time.UTC)}
	all := []chat.Value{table.decoded}
	if len(r.Variables) > 0 {
		v, err := chat.DecodeJSON(r.Variables)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	for _, v := range all {
		if v == nil {
			continue
		}
		for name, v := range v.(*chat.Map).All() {
			switch name {
			case "messages":
				c.Messages = v
			case "tools":
				c.Tools = v
			case "documents":
				c.Documents = v
			case "add_generation_prompt":
				c.AddGenerationPrompt = v == true
			default:
				if err := c.Vars.Set(name, v); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return c
}

func renderTemplate(source string, c *chat.Context) (chat.Result, error) {
	t, err := chat.Parse("row", source)
	if err != nil {
		return chat.Result{}, err
	}
	return t.Render(c)
}

// errorKind names an error as the tables do.
func errorKind(err error) string {
	if err == nil {
		return ""
	}
	if _, ok := errors.AsType[*chat.RaiseError](err); ok {
		return "raise"
	}
	if _, ok := errors.AsType[*chat.SyntaxError](err); ok {
		return "syntax"
	}
	if e, ok := errors.AsType[*chat.RuntimeError](err); ok {
		return string(e.Kind)
	}
	return "untyped"
}

// TestJinja holds the engine to Jinja's answers, text for text. An error need
// only be of the same kind; the message of raise_exception is the template's
// and must be the same.
func TestJinja(t *testing.T) {
	for _, kind := range jinjaKinds {
		t.Run(kind, func(t *testing.T) {
			table := readJinjaTable(t, kind)
			for _, r := range table.Rows {
				t.Run(r.Name, func(t *testing.T) { r.check(t, table) })
			}
		})
	}
}

func (r *jinjaRow) check(t *testing.T, table *jinjaTable) {
	got, err := renderTemplate(r.Template, table.context(t, r))
	if why, ok := differs[r.Template]; ok {
		if errorKind(err) == r.Error && got.Text == r.Want {
			t.Errorf("%s\nanswers as Jinja does: take it off the list (%s)", r.Template, why)
		}
		return
	}
	if kind := errorKind(err); kind != r.Error && !slices.Contains(sameKinds[r.Error], kind) {
		t.Fatalf("%s\ngot  %q, error %v\nwant %q, error kind %q", r.Template, got.Text, err, r.Want, r.Error)
	}
	if r.Error == "raise" && err.Error() != r.Message {
		t.Errorf("%s\nmessage %q, want %q", r.Template, err, r.Message)
	}
	if got.Text != r.Want {
		t.Errorf("%s\ngot  %q\nwant %q", r.Template, got.Text, r.Want)
	}
	if err == nil && !slices.Equal(got.Assistant, r.Assistant) {
		t.Errorf("%s\nassistant %v, want %v", r.Template, got.Assistant, r.Assistant)
	}
}

// sameKinds are the engine's kinds for errors that are Jinja's own, where the
// engine distinguishes a wrong type from a wrong value.
var sameKinds = map[string][]string{"argument": {"type", "value"}, "runtime": {"type"}}

// jinjaKinds are the tables.
var jinjaKinds = []string{"filters", "tests", "globals", "statements", "expressions", "methods", "formats"}

// differs lists the templates that the engine answers otherwise on purpose,
// each with the reason.
var differs = map[string]string{
	"{{ d | pprint }}":                          notSupported,
	"{{ 'see http://x.y' | urlize }}":           notSupported,
	"{{ [1] | random }}":                        notSupported,
	"{{ lipsum(n=1) | length > 0 }}":            notSupported,
	"{{ 'pprint' is filter }}":                  "there is none: it is not supported",
	"{{ 'random' is filter }}":                  "there is none: it is not supported",
	"{{ 'urlize' is filter }}":                  "there is none: it is not supported",
	"{% include 'x' %}":                         standsAlone,
	"{% include 'x' ignore missing %}":          standsAlone,
	"{% if no %}{% include 'x' %}{% endif %}ok": standsAlone,
	"{% import 'x' as y %}":                     standsAlone,
	"{% from 'x' import y %}":                   standsAlone,
	"{% extends 'x' %}":                         standsAlone,
	"{% block b required %}{% endblock %}":      "a block that another template must fill is refused when the template is read, not when it is rendered",
	"{{ '\\N{BULLET}' }}":                       "the names of all characters would be a megabyte of the program",
	"{{ -3 ** 2.5 }}":                           noComplex,
	"{{ (-8) ** 0.5 }}":                         noComplex,
	"{{ neg ** 0.5 }}":                          noComplex,
	"{{ -2.5 ** 0.5 }}":                         noComplex,
	"{{ long | wordwrap(9.0) }}":                "Python compares with a width that is no integer and fails only where it cuts a word; here it is a type error at once",
}

// Reasons that several templates share.
const (
	notSupported = "not supported: its text is random, or made to be read by people or as HTML"
	standsAlone  = "a chat template has no others to refer to: refused when it is read, where transformers fails when it is rendered"
	noComplex    = "there are no complex numbers in a template"
)

// absentMethods are those of Python that the engine does not have: a call is
// refused by their names.
var absentMethods = map[string]string{"float.fromhex": "a constructor, which no template calls on a number"}

// samples are expressions of the types whose methods the tables name.
var samples = map[string]string{
	"str": "s", "list": "xs", "tuple": "(1,)", "dict": "{}", "int": "n", "float": "f", "bool": "yes", "range": "range(3)",
	"cycler": "cycler(1)", "joiner": "joiner()", "markup": "('a' | e)",
}

// mutators are the methods that the sandbox of Jinja hides too.
var mutators = "list.append list.clear list.extend list.insert list.pop list.remove list.reverse list.sort dict.clear dict.pop dict.popitem dict.setdefault dict.update"

// TestJinjaTablesComplete: every filter, test, global, method and statement,
// of the engine and of Jinja, has a row, and every operator occurs in one.
func TestJinjaTablesComplete(t *testing.T) {
	engine := chat.Registries()
	for _, kind := range jinjaKinds {
		table := readJinjaTable(t, kind)
		has := map[string]bool{}
		var all strings.Builder
		for _, r := range table.Rows {
			has[r.subject()] = true
			all.WriteString(r.Template)
		}
		names := slices.Concat(table.Names, engine[kind])
		for _, name := range names {
			switch {
			case kind == "expressions" && !strings.Contains(all.String(), name), kind != "expressions" && !has[name] && absentMethods[name] == "":
				t.Errorf("no row of %s about %q", kind, name)
			}
		}
	}
}

// TestJinjaMethods: the engine has the methods of Python, but for those listed,
// and hides those that the sandbox hides.
func TestJinjaMethods(t *testing.T) {
	table := readJinjaTable(t, "methods")
	hidden := strings.Fields(mutators)
	for _, name := range table.Names {
		typ, method, _ := strings.Cut(name, ".")
		got, err := renderTemplate("{{ "+samples[typ]+"."+method+" is defined }}", table.context(t, &jinjaRow{}))
		want := !slices.Contains(hidden, name)
		if err != nil || got.Text != map[bool]string{true: "True", false: "False"}[want] {
			t.Errorf("%s is defined: %s, %v; want %v", name, got.Text, err, want)
		}
	}
}

// TestRefusedMethods: what Python has and the engine lacks is an error that names
// it, where an undefined value would print as nothing.
func TestRefusedMethods(t *testing.T) {
	for expr, want := range map[string]string{
		"'a'.encode().upper()": "the method bytes.upper is not supported", "(1.5).fromhex('1')": "the method float.fromhex is not supported",
		"{}.keys().isdisjoint([])": "the method dict_keys.isdisjoint is not supported", "'a'.encode() % 1": "formatting bytes",
		"'a'.__rmul__()": "unsafe", "{}.__or__()": "unsafe", "(1).__xor__()": "unsafe", "([1] | map('abs')).gi_frame.x": "unsafe",
		"'a'.encode('cp1252')": "unknown, or not supported", "'é'.encode('ascii', 'namereplace')": "unknown, or not supported",
	} {
		_, err := renderTemplate("{{ "+expr+" }}", &chat.Context{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", expr, err, want)
		}
	}
}
