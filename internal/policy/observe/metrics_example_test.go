package observe_test

import (
	"fmt"
	"net/http/httptest"
	"strings"

	"atenia/internal/memory"
	"atenia/internal/policy/observe"
)

func Example_metrics() {
	s := observe.NewMetrics()
	s.Tier(memory.RAM, 1<<30, 0, 2<<30)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "atenia_tier_bytes") {
			fmt.Print(line)
		}
	}
	// Output:
	// atenia_tier_bytes{state="budget",tier="ram"} 2.147483648e+09
	// atenia_tier_bytes{state="reserved",tier="ram"} 0
	// atenia_tier_bytes{state="used",tier="ram"} 1.073741824e+09
}
