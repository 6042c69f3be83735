package lint

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// contractIDs are the requirements of the plan contract: decision, goals,
// boundaries, typed contracts, phases, gates, risks and notes, addenda.
const contractIDs = `
D1 D2 G1 G2 G3 G4 N1 N2 N3 N4 N5 M1 M2 M3 I1 I2 I3 K1 K2 K3
T1 T2 T3 T4 T5 T6 T7 X1 X2 X3 X4
P0a P0b P0c P0d P1a P1b P1c P2a P2b P2c P2d P2e P3a P3b P3c P4a P4b P4c P4d P5a P5b P5c P6a P6b
GP1 GP2 GP3 GP4 GP5 GC1 GC2 GC3 GC4 O1 O2 O3 O4
R1 R2 R3 Q1 Q2 Q5 Q6 Q7 OQ IN1 IN2 IN3
A1.1 A1.2 A1.3 A1.4 A1.5 A2.1 A2.2 A2.3 A2.4 A2.5 A2.6 A2.7 A3.1 A3.2 A3.3 A3.4 A3.7
A4.1 A4.2 A4.3 A4.4 A4.5 A5.1 A5.2 A5.3 A5.4 A5.5 A6.1 A6.2 A6.3 A6.4 A7
A8.0 A8.1 A8.2 A8.3 A8.4 A9.0 A9.1 A9.2 A9.3 A9.4 A9.5 A9.6 A9.7 A9.8 A9.9 A9.10
A10.1 A10.2 A10.3 A10.4 A10.5 TP1 TP2 TP3 TP4 TP5 TP6`

// TestAcceptanceIDs: no requirement of the contract is forgotten, and the ten
// that had to be tests before anything ran are tests.
func TestAcceptanceIDs(t *testing.T) {
	rows := map[string]acceptance{}
	for _, r := range acceptanceRows(t) {
		rows[r.ID] = r
	}
	for _, id := range strings.Fields(contractIDs) {
		r, ok := rows[id]
		switch {
		case !ok:
			t.Errorf("%s is not in the table", id)
		case strings.HasPrefix(id, "A9.") && r.Test == "":
			t.Errorf("%s needs a test", id)
		}
	}
}

// pack is the contract's minimum of tests, by the names it gives them.
var pack = map[string]string{
	"1_compile":  "TestPlanGolden TestPlanSameForQuantised TestPlanRoundTripProgram TestPlanDeterministic",
	"2_reuse":    "TestMapReusesDeadBuffers TestMapCountLEPeakProperty TestMapNoOverlapSimulation TestMapIndependentOfDepth TestMapInPlaceOnlyWhenDying",
	"3_params":   "TestParamVersionMismatch TestParamSizeMismatch TestParamWrongOpcode TestParamOver256 TestParamLittleEndianGolden TestParamRoundTripAllOpcodes",
	"4_routing":  "TestRouteBatch1 TestRouteBatchN TestRouteBatchAlternateBackend TestRouteBatchUnsupportedTyped TestNoRuntimeFallback",
	"5_handoffs": "TestHandoffDType TestHandoffLayout TestHandoffCols TestHandoffMissingProducer TestHandoffReleasedTooEarly TestHandoffSyncRequired TestVisionStageParity",
	"6_states":   "TestLifecycleMatrix TestSlotRecycleNoLeak TestAbortTeardown TestEvictUnderPressure TestForkDiverges TestPagePoolInvariants TestPrefixReuseHybrid TestOnlySnapshots",
}

// TestMinimumPack: the tests that the contract names are there. That they pass
// is seen where they run.
func TestMinimumPack(t *testing.T) {
	have := testFunctions(t)
	for part, names := range pack {
		t.Run(part, func(t *testing.T) {
			for _, name := range strings.Fields(names) {
				if !have[name] {
					t.Errorf("there is no %s", name)
				}
			}
		})
	}
}

// TestContractAccepted: every decision has a status, and that of the plan
// contract is accepted.
func TestContractAccepted(t *testing.T) {
	if err := enterRoot(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("docs/decisions/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no decisions", err)
	}
	for _, file := range files {
		b, err := readFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), "\nStatus: ") {
			t.Errorf("%s has no line Status", file)
		}
		if strings.HasSuffix(file, "0001-plan-contract.md") && !strings.Contains(string(b), "\nStatus: accepted") {
			t.Errorf("%s is not accepted", file)
		}
	}
	if !slices.Contains(files, filepath.Join("docs", "decisions", "0001-plan-contract.md")) {
		t.Error("the decision on the plan contract is gone")
	}
}

// TestChecksRunInCI: the run that must be green calls README's test command, with
// the output by which its tests prove every row of the acceptance table, under the
// shell options that stop at the first failure.
func TestChecksRunInCI(t *testing.T) {
	b, err := readFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(b)) {
		lines = append(lines, strings.TrimSpace(line))
	}
	for _, want := range []string{
		"set -euo pipefail",
		"go vet ./...",
		`"$staticcheck" ./...`,
		"(go test -json ./... && go -C tools test -json ./...) | go run -C tools ./acceptance ../docs/acceptance.json",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf(".ci/run has no line %q", want)
		}
	}
}
