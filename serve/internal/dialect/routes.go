package dialect

import (
	"slices"

	"atenia/serve/internal/host"
)

// Routes returns the endpoints of all dialects.
func Routes() []host.Route {
	return slices.Concat(openaiRoutes(), anthropicRoutes(), ollamaRoutes())
}
