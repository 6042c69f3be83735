package host

// What a request leaves out.

import "atenia"

// Set gives a field the value of a request, if that has one.
func Set[T any](field, v *T) {
	if v != nil {
		*field = *v
	}
}

// Pooling returns how a model makes vectors if a request wants it as said: a model that
// was opened to generate text pools its last hidden states by their mean unless the
// request says otherwise, as Ollama's engine does.
func Pooling(m *atenia.Model, said string) string {
	if _, encoder := m.Encoding(); !encoder && said == "" {
		return "mean"
	}
	return said
}
