// Package schulz drives the singular values of a matrix towards one by the
// quintic Newton–Schulz iteration, and computes its adjoint.
//
//	S ──▶ X_0 = S / |S| ──▶ X_1 ──▶ … ──▶ X_K        X <- aX + (bA + cA^2)X,  A = X X^T
//
// An [Iteration] keeps every iterate for its adjoint.
package schulz
