package graph

// Link finds out what follows from a plan and the types of its nodes.
func Link(p *Plan, c Catalog, o Options) (*Linked, error) {
	return nil, &Error{Code: Malformed, Path: "$", Text: "this version does not link plans yet"}
}
