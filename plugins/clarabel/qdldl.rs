// SPDX-License-Identifier: BSD-3-Clause
//! METAPACK as the linear solver of Clarabel (0.11): this file in place of Clarabel's
//! src/solver/core/kktsolvers/direct/quasidef/ldlsolvers/qdldl.rs, under the same names, so that nothing
//! else of Clarabel is changed. docs/guide/optimisers.md.
//!
//! Clarabel gives the upper triangle of its KKT system with each factorization, adds its static
//! regularization itself, and refines. Pivots are chosen here: dynamic regularization is not needed.
#![allow(non_snake_case)]
use crate::algebra::*;
use crate::solver::core::kktsolvers::direct::{DirectLDLSolver, DirectLDLSolverReqs};
use crate::solver::core::kktsolvers::HasLinearSolverInfo;
use crate::solver::core::kktsolvers::LinearSolverInfo;
use crate::solver::core::CoreSettings;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::os::raw::c_int;
use std::ptr::{null, null_mut};

type Handle = *mut c_void;

#[link(name = "metapack")]
extern "C" {
    fn mpk_context_create(allocator: *const c_void, ctx: *mut Handle) -> c_int;
    fn mpk_context_destroy(ctx: *mut Handle);
    fn mpk_options_init_sized(size: usize, options: *mut i64);
    fn mpk_problem_from_csc_wide(
        ctx: Handle, n: i64, scalar: c_int, symmetry: c_int, triangle: c_int, ap: *const i64,
        ai: *const i32, ax: *const c_void, problem: *mut Handle,
    ) -> c_int;
    fn mpk_problem_destroy(problem: *mut Handle);
    fn mpk_analyse(ctx: Handle, problem: Handle, options: *const i64, an: *mut Handle) -> c_int;
    fn mpk_analysis_destroy(an: *mut Handle);
    fn mpk_factorize(
        ctx: Handle, an: Handle, ax: *const c_void, options: *const i64, fac: *mut Handle,
    ) -> c_int;
    fn mpk_factor_info_get_sized(size: usize, fac: Handle, info: *mut Info);
    fn mpk_factor_destroy(fac: *mut Handle);
    fn mpk_solve_part(
        ctx: Handle, fac: Handle, part: c_int, nrhs: i32, x: *mut c_void, ldx: i64,
    ) -> c_int;
}

const SYMMETRIC: c_int = 0;
const UPPER: c_int = 1;
const ALL: c_int = 4;
const OPTION_WORDS: usize = 256; // an mpk_options, and room for those of later versions

/// The first fields of mpk_factor_info: the library writes as much as it is told there is.
#[repr(C)]
#[derive(Default)]
struct Info {
    positive: i64,
    negative: i64,
    zero: i64,
    certified: c_int,
    examined: c_int,
    nnz: i64,
}

pub struct QDLDLDirectLDLSolver<T> {
    ctx: Handle,
    problem: Handle,
    an: Handle,
    fac: Handle,
    options: Vec<i64>,
    nnzA: usize,
    nnzL: usize,
    of: PhantomData<T>,
}

// one solver serves one thread at a time, any thread
unsafe impl<T> Send for QDLDLDirectLDLSolver<T> {}
unsafe impl<T> Sync for QDLDLDirectLDLSolver<T> {}

impl<T> Drop for QDLDLDirectLDLSolver<T> {
    fn drop(&mut self) {
        unsafe {
            mpk_factor_destroy(&mut self.fac);
            mpk_analysis_destroy(&mut self.an);
            mpk_problem_destroy(&mut self.problem);
            mpk_context_destroy(&mut self.ctx);
        }
    }
}

impl<T> QDLDLDirectLDLSolver<T>
where
    T: FloatT,
{
    pub fn new(
        KKT: &CscMatrix<T>,
        _Dsigns: &[i8],
        _settings: &CoreSettings<T>,
        _perm: Option<Vec<usize>>,
    ) -> Self {
        assert!(KKT.is_square(), "KKT matrix is not square");
        let mut options = vec![0i64; OPTION_WORDS];
        let mut ctx = null_mut();
        unsafe {
            assert!(mpk_context_create(null(), &mut ctx) >= 0, "METAPACK: no memory");
            mpk_options_init_sized(OPTION_WORDS * 8, options.as_mut_ptr());
        }
        let (problem, an, fac) = (null_mut(), null_mut(), null_mut());
        Self { ctx, problem, an, fac, options, nnzA: KKT.nnz(), nnzL: 0, of: PhantomData }
    }

    /// With the first values that are factorized: those of `new` are not yet the system's.
    fn analyse(&mut self, KKT: &CscMatrix<T>) -> bool {
        let ap: Vec<i64> = KKT.colptr.iter().map(|&p| p as i64).collect();
        let ai: Vec<i32> = KKT.rowval.iter().map(|&i| i as i32).collect();
        let scalar = if std::mem::size_of::<T>() == 8 { 1 } else { 0 };
        unsafe {
            let made = mpk_problem_from_csc_wide(
                self.ctx, KKT.n as i64, scalar, SYMMETRIC, UPPER, ap.as_ptr(), ai.as_ptr(),
                KKT.nzval.as_ptr() as *const c_void, &mut self.problem,
            );
            made >= 0 && mpk_analyse(self.ctx, self.problem, self.options.as_ptr(), &mut self.an) >= 0
        }
    }
}

impl<T> DirectLDLSolverReqs for QDLDLDirectLDLSolver<T>
where
    T: FloatT,
{
    fn required_matrix_shape() -> MatrixTriangle {
        MatrixTriangle::Triu
    }
}

impl<T> HasLinearSolverInfo for QDLDLDirectLDLSolver<T>
where
    T: FloatT,
{
    fn linear_solver_info(&self) -> LinearSolverInfo {
        LinearSolverInfo {
            name: "metapack".to_string(),
            threads: 1,
            direct: true,
            nnzA: self.nnzA,
            nnzL: self.nnzL, // 0 before the first factorization
        }
    }
}

impl<T> DirectLDLSolver<T> for QDLDLDirectLDLSolver<T>
where
    T: FloatT,
{
    // refactor() takes all values from the matrix that Clarabel hands over
    fn update_values(&mut self, _index: &[usize], _values: &[T]) {}
    fn scale_values(&mut self, _index: &[usize], _scale: T) {}
    fn offset_values(&mut self, _index: &[usize], _offset: T, _signs: &[i8]) {}

    fn solve(&mut self, kkt: &CscMatrix<T>, x: &mut [T], b: &mut [T]) {
        x.copy_from_slice(b);
        let n = kkt.n as i64;
        let told = if self.fac.is_null() {
            -1
        } else {
            unsafe { mpk_solve_part(self.ctx, self.fac, ALL, 1, x.as_mut_ptr() as *mut c_void, n) }
        };
        if told < 0 {
            x.fill(T::nan()); // Clarabel then ends with a numerical error
        }
    }

    fn refactor(&mut self, kkt: &CscMatrix<T>) -> bool {
        if self.an.is_null() && !self.analyse(kkt) {
            return false;
        }
        let values = kkt.nzval.as_ptr() as *const c_void;
        let mut info = Info::default();
        unsafe {
            // 0: a singular quasi-definite system is a failure
            if mpk_factorize(self.ctx, self.an, values, self.options.as_ptr(), &mut self.fac) != 0 {
                return false;
            }
            mpk_factor_info_get_sized(std::mem::size_of::<Info>(), self.fac, &mut info);
        }
        self.nnzL = info.nnz as usize;
        true
    }
}
