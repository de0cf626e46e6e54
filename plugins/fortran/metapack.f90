! SPDX-License-Identifier: BSD-3-Clause
!> METAPACK in Fortran 2008: one type, over the C library. Compile this file with the program:
!>     gfortran metapack.f90 program.f90 $(pkg-config --cflags --libs metapack)
!> docs/guide/fortran.md; examples/solve.f90. Whatever fails ends the program with its text, unless the call has `stat`:
!> 0 is success, above 0 a result with a remark (singular, inaccurate, ...), below 0 a failure; message() has the text.
module metapack
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int32, int64, real64, error_unit
    implicit none
    private
    public :: metapack_solver

    ! what a matrix is, and which of its entries are given
    integer, parameter, public :: mpk_symmetric = 0, mpk_hermitian = 1, mpk_general = 2
    integer, parameter, public :: mpk_lower = 0, mpk_upper = 1, mpk_full = 2, mpk_either = 3
    ! statuses that come with a result
    integer, parameter, public :: mpk_ok = 0, mpk_singular = 1, mpk_perturbed = 2, mpk_inaccurate = 3, mpk_not_converged = 4
    integer, parameter :: mpk_err_argument = -1
    integer(c_int), parameter, private :: not_asked = -1000 ! a call that does not get as far as the library
    integer(c_int), parameter :: mpk_d = 1, mpk_z = 3
    integer(c_int), parameter :: get_inertia = 0, get_logdet = 4, select_diagonal = 0

    !> The first fields of mpk_solve_info: the library writes as much as it is told there is.
    type, bind(c) :: solve_info
        integer(c_int32_t) :: iterations = 0
        real(c_double) :: normwise = 0, componentwise = 0
    end type solve_info

    !> A matrix, its analysis and its factor. It is freed when it goes out of scope, and cannot be copied.
    type :: metapack_solver
        integer :: n = 0           !< order, 0 before analyse
        integer :: status = 0      !< of the last call
        integer :: iterations = 0  !< steps of refinement of the last solve
        real(real64) :: backward_error = 0 !< of the last solve, componentwise
        type(c_ptr), private :: context = c_null_ptr, problem = c_null_ptr, analysis = c_null_ptr, factor = c_null_ptr
        integer(c_int), private :: scalar = mpk_d
        integer(int64), private :: entries = 0
        logical, private :: with_options = .false.
        logical, private :: refused = .false. ! the last call, before the library was asked
        integer(c_int64_t), private :: options(256) = 0 ! an mpk_options, and room for those of later versions
    contains
        !> call s%set('pivot_threshold', '0.1' [, stat]): an option by its name, docs/reference/options.md
        procedure :: set => solver_set
        !> call s%analyse(n, colptr, row, values [, kind] [, triangle] [, stat])
        !> The matrix by columns, counted from 1 (from 0 where colptr(1) is 0): rows row(colptr(j)) .. of column j.
        !> kind: mpk_symmetric (default), mpk_hermitian, mpk_general; triangle: mpk_lower (default), ...
        generic :: analyse => analyse_d, analyse_z, analyse_d_wide, analyse_z_wide
        !> call s%factorize([values] [, stat]): values in the order of analyse; without them those that it was given
        generic :: factorize => factorize_none, factorize_d, factorize_z
        !> call s%solve(b [, stat]): b(n) or b(n, m), which becomes x
        generic :: solve => solve_d, solve_z, solve_d_many, solve_z_many
        !> call s%inertia(positive, negative, zero): numbers of eigenvalues
        procedure :: inertia => solver_inertia
        !> s%log_determinant([sign]): log|det A|; sign is complex, of a real matrix 1, -1 or 0
        procedure :: log_determinant => solver_log_determinant
        !> call s%inverse_diagonal(d [, stat]): the diagonal of the inverse, d(n)
        generic :: inverse_diagonal => inverse_diagonal_d, inverse_diagonal_z
        procedure :: message => solver_message
        procedure :: clear => solver_clear
        procedure, private :: analyse_d, analyse_z, analyse_d_wide, analyse_z_wide, factorize_none, factorize_d, factorize_z
        procedure, private :: solve_d, solve_z, solve_d_many, solve_z_many, inverse_diagonal_d, inverse_diagonal_z
        procedure, private :: copy
        generic :: assignment(=) => copy
        final :: destroy
    end type metapack_solver

    interface
        function mpk_context_create(allocator, ctx) bind(c) result(status)
            import c_int, c_ptr
            type(c_ptr), value :: allocator
            type(c_ptr), intent(inout) :: ctx
            integer(c_int) :: status
        end function mpk_context_create
        subroutine mpk_context_destroy(ctx) bind(c)
            import c_ptr
            type(c_ptr), intent(inout) :: ctx
        end subroutine mpk_context_destroy
        function mpk_last_error(ctx, stage, at, text) bind(c) result(status)
            import c_int, c_ptr
            type(c_ptr), value :: ctx, stage, at
            type(c_ptr), intent(inout) :: text
            integer(c_int) :: status
        end function mpk_last_error
        subroutine mpk_options_init_sized(bytes, options) bind(c)
            import c_size_t, c_int64_t
            integer(c_size_t), value :: bytes
            integer(c_int64_t), intent(inout) :: options(*)
        end subroutine mpk_options_init_sized
        function mpk_options_set(ctx, options, key, text) bind(c) result(status)
            import c_int, c_ptr, c_char, c_int64_t
            type(c_ptr), value :: ctx
            integer(c_int64_t), intent(inout) :: options(*)
            character(kind=c_char), intent(in) :: key(*), text(*)
            integer(c_int) :: status
        end function mpk_options_set
        function mpk_problem_from_csc_wide(ctx, n, scalar, symmetry, triangle, ap, ai, ax, problem) bind(c) result(status)
            import c_int, c_ptr, c_int32_t, c_int64_t
            type(c_ptr), value :: ctx, ax
            integer(c_int64_t), value :: n
            integer(c_int), value :: scalar, symmetry, triangle
            integer(c_int64_t), intent(in) :: ap(*)
            integer(c_int32_t), intent(in) :: ai(*)
            type(c_ptr), intent(inout) :: problem
            integer(c_int) :: status
        end function mpk_problem_from_csc_wide
        subroutine mpk_problem_destroy(problem) bind(c)
            import c_ptr
            type(c_ptr), intent(inout) :: problem
        end subroutine mpk_problem_destroy
        function mpk_analyse(ctx, problem, options, analysis) bind(c) result(status)
            import c_int, c_ptr
            type(c_ptr), value :: ctx, problem, options
            type(c_ptr), intent(inout) :: analysis
            integer(c_int) :: status
        end function mpk_analyse
        subroutine mpk_analysis_destroy(analysis) bind(c)
            import c_ptr
            type(c_ptr), intent(inout) :: analysis
        end subroutine mpk_analysis_destroy
        function mpk_factorize(ctx, analysis, ax, options, factor) bind(c) result(status)
            import c_int, c_ptr
            type(c_ptr), value :: ctx, analysis, ax, options
            type(c_ptr), intent(inout) :: factor
            integer(c_int) :: status
        end function mpk_factorize
        subroutine mpk_factor_destroy(factor) bind(c)
            import c_ptr
            type(c_ptr), intent(inout) :: factor
        end subroutine mpk_factor_destroy
        function mpk_solve_sized(bytes, ctx, factor, nrhs, b, ldb, x, ldx, options, info) bind(c) result(status)
            import c_int, c_ptr, c_size_t, c_int32_t, c_int64_t, solve_info
            integer(c_size_t), value :: bytes
            type(c_ptr), value :: ctx, factor, b, x, options
            integer(c_int32_t), value :: nrhs
            integer(c_int64_t), value :: ldb, ldx
            type(solve_info), intent(inout) :: info
            integer(c_int) :: status
        end function mpk_solve_sized
        function mpk_get(ctx, factor, what, out, bytes) bind(c) result(status)
            import c_int, c_ptr, c_size_t
            type(c_ptr), value :: ctx, factor, out
            integer(c_int), value :: what
            integer(c_size_t), value :: bytes
            integer(c_int) :: status
        end function mpk_get
        function mpk_selected_inverse_sized(size, ctx, factor, what, out, bytes, options, info) bind(c) result(status)
            import c_int, c_ptr, c_size_t
            integer(c_size_t), value :: size, bytes
            type(c_ptr), value :: ctx, factor, out, options, info
            integer(c_int), value :: what
            integer(c_int) :: status
        end function mpk_selected_inverse_sized
        function strlen(text) bind(c) result(length)
            import c_ptr, c_size_t
            type(c_ptr), value :: text
            integer(c_size_t) :: length
        end function strlen
    end interface

contains

    ! ---- errors, options, what goes ----------------------------------------------------------------

    !> The text of the last failure or remark; empty: there is none.
    function solver_message(self) result(text)
        class(metapack_solver), intent(in) :: self
        character(:), allocatable :: text
        type(c_ptr) :: place
        character(kind=c_char), pointer :: letters(:)
        integer :: status, k
        place = c_null_ptr
        text = ''
        if (self%refused) text = 'wrong sizes, another type, or called before what comes first'
        if (self%refused) return
        status = mpk_last_error(self%context, c_null_ptr, c_null_ptr, place)
        if (.not. c_associated(place)) return
        call c_f_pointer(place, letters, [strlen(place)])
        text = repeat(' ', size(letters))
        do k = 1, size(letters)
            text(k:k) = letters(k)
        end do
    end function solver_message

    !> Keep a status; a failure that nobody asks for ends the program.
    subroutine tell(self, status, what, stat)
        class(metapack_solver), intent(inout) :: self
        integer(c_int), intent(in) :: status
        character(*), intent(in) :: what
        integer, intent(out), optional :: stat
        self%refused = status == not_asked
        self%status = merge(mpk_err_argument, int(status), self%refused)
        if (present(stat)) then
            stat = self%status
        else if (self%status < 0) then
            write (error_unit, '(4a)') 'metapack: ', what, ': ', self%message()
            error stop 1
        end if
    end subroutine tell

    !> A context with the first call, options likewise.
    function begin(self) result(status)
        class(metapack_solver), intent(inout) :: self
        integer(c_int) :: status
        status = mpk_ok
        if (.not. c_associated(self%context)) status = mpk_context_create(c_null_ptr, self%context)
        if (self%with_options) return
        call mpk_options_init_sized(int(8 * size(self%options), c_size_t), self%options)
        self%with_options = .true.
    end function begin

    subroutine solver_set(self, key, text, stat)
        class(metapack_solver), intent(inout) :: self
        character(*), intent(in) :: key, text
        integer, intent(out), optional :: stat
        integer(c_int) :: status
        status = begin(self)
        if (status >= 0) status = mpk_options_set(self%context, self%options, trim(key)//c_null_char, trim(text)//c_null_char)
        call tell(self, status, 'set '//trim(key), stat)
    end subroutine solver_set

    !> Free what there is but the options.
    subroutine solver_clear(self)
        class(metapack_solver), intent(inout) :: self
        call mpk_factor_destroy(self%factor)
        call mpk_analysis_destroy(self%analysis)
        call mpk_problem_destroy(self%problem)
        self%n = 0
        self%entries = 0
    end subroutine solver_clear

    impure elemental subroutine destroy(self)
        type(metapack_solver), intent(inout) :: self
        call self%clear()
        call mpk_context_destroy(self%context)
    end subroutine destroy

    !> Two that own the same objects would free them twice.
    subroutine copy(self, other)
        class(metapack_solver), intent(inout) :: self
        class(metapack_solver), intent(in) :: other
        write (error_unit, '(a,i0,a,i0)') 'metapack: a metapack_solver cannot be copied, of order ', other%n, ' to ', self%n
        error stop 1
    end subroutine copy

    function given(self) result(place)
        class(metapack_solver), intent(in), target :: self
        type(c_ptr) :: place
        place = c_loc(self%options)
    end function given

    ! ---- analyse -------------------------------------------------------------------------------------

    subroutine analyse_any(self, n, colptr, row, values, entries, scalar, kind, triangle, stat)
        class(metapack_solver), intent(inout) :: self
        integer, intent(in) :: n
        integer(int64), intent(in) :: colptr(:)
        integer(int32), intent(in) :: row(:)
        type(c_ptr), intent(in) :: values
        integer, intent(in) :: entries
        integer(c_int), intent(in) :: scalar
        integer, intent(in), optional :: kind, triangle
        integer, intent(out), optional :: stat
        integer(c_int) :: status, symmetry, which
        integer(int64) :: first
        call self%clear()
        symmetry = mpk_symmetric
        if (present(kind)) symmetry = int(kind, c_int)
        which = merge(mpk_full, mpk_lower, symmetry == mpk_general)
        if (present(triangle)) which = int(triangle, c_int)
        status = begin(self)
        if (status >= 0) then
            status = not_asked
            if (n >= 0 .and. size(colptr) == n + 1) then
                first = colptr(1)
                if ((first == 0 .or. first == 1) .and. colptr(n + 1) - first == entries .and. size(row) == entries) &
                    status = mpk_problem_from_csc_wide(self%context, int(n, c_int64_t), scalar, symmetry, which, &
                                                       colptr - first, int(row - first, c_int32_t), values, self%problem)
            end if
        end if
        if (status >= 0) status = mpk_analyse(self%context, self%problem, given(self), self%analysis)
        if (status >= 0) then
            self%n = n
            self%entries = entries
            self%scalar = scalar
        else
            call mpk_problem_destroy(self%problem)
        end if
        call tell(self, status, 'analyse', stat)
    end subroutine analyse_any

    subroutine analyse_d(self, n, colptr, row, values, kind, triangle, stat)
        class(metapack_solver), intent(inout) :: self
        integer, intent(in) :: n
        integer(int32), intent(in) :: colptr(:), row(:)
        real(real64), intent(in), contiguous, target :: values(:)
        integer, intent(in), optional :: kind, triangle
        integer, intent(out), optional :: stat
        call analyse_any(self, n, int(colptr, int64), row, place_d(values), size(values), mpk_d, kind, triangle, stat)
    end subroutine analyse_d

    subroutine analyse_z(self, n, colptr, row, values, kind, triangle, stat)
        class(metapack_solver), intent(inout) :: self
        integer, intent(in) :: n
        integer(int32), intent(in) :: colptr(:), row(:)
        complex(real64), intent(in), contiguous, target :: values(:)
        integer, intent(in), optional :: kind, triangle
        integer, intent(out), optional :: stat
        call analyse_any(self, n, int(colptr, int64), row, place_z(values), size(values), mpk_z, kind, triangle, stat)
    end subroutine analyse_z

    subroutine analyse_d_wide(self, n, colptr, row, values, kind, triangle, stat)
        class(metapack_solver), intent(inout) :: self
        integer, intent(in) :: n
        integer(int64), intent(in) :: colptr(:)
        integer(int32), intent(in) :: row(:)
        real(real64), intent(in), contiguous, target :: values(:)
        integer, intent(in), optional :: kind, triangle
        integer, intent(out), optional :: stat
        call analyse_any(self, n, colptr, row, place_d(values), size(values), mpk_d, kind, triangle, stat)
    end subroutine analyse_d_wide

    subroutine analyse_z_wide(self, n, colptr, row, values, kind, triangle, stat)
        class(metapack_solver), intent(inout) :: self
        integer, intent(in) :: n
        integer(int64), intent(in) :: colptr(:)
        integer(int32), intent(in) :: row(:)
        complex(real64), intent(in), contiguous, target :: values(:)
        integer, intent(in), optional :: kind, triangle
        integer, intent(out), optional :: stat
        call analyse_any(self, n, colptr, row, place_z(values), size(values), mpk_z, kind, triangle, stat)
    end subroutine analyse_z_wide

    !> The address of an array; of an empty one, which has none, any.
    function place_d(values) result(place)
        real(real64), intent(in), contiguous, target :: values(:)
        real(real64), save, target :: nothing(1) = 0
        type(c_ptr) :: place
        place = c_loc(nothing)
        if (size(values) > 0) place = c_loc(values(1))
    end function place_d

    function place_z(values) result(place)
        complex(real64), intent(in), contiguous, target :: values(:)
        complex(real64), save, target :: nothing(1) = 0
        type(c_ptr) :: place
        place = c_loc(nothing)
        if (size(values) > 0) place = c_loc(values(1))
    end function place_z

    ! ---- factorize -----------------------------------------------------------------------------------

    subroutine factorize_any(self, values, entries, scalar, stat)
        class(metapack_solver), intent(inout) :: self
        type(c_ptr), intent(in) :: values
        integer, intent(in) :: entries
        integer(c_int), intent(in) :: scalar
        integer, intent(out), optional :: stat
        integer(c_int) :: status
        status = not_asked
        if (c_associated(self%analysis) .and. entries == self%entries .and. scalar == self%scalar) &
            status = mpk_factorize(self%context, self%analysis, values, given(self), self%factor)
        call tell(self, status, 'factorize', stat)
    end subroutine factorize_any

    subroutine factorize_none(self, stat)
        class(metapack_solver), intent(inout) :: self
        integer, intent(out), optional :: stat
        call factorize_any(self, c_null_ptr, int(self%entries), self%scalar, stat)
    end subroutine factorize_none

    subroutine factorize_d(self, values, stat)
        class(metapack_solver), intent(inout) :: self
        real(real64), intent(in), contiguous, target :: values(:)
        integer, intent(out), optional :: stat
        call factorize_any(self, place_d(values), size(values), mpk_d, stat)
    end subroutine factorize_d

    subroutine factorize_z(self, values, stat)
        class(metapack_solver), intent(inout) :: self
        complex(real64), intent(in), contiguous, target :: values(:)
        integer, intent(out), optional :: stat
        call factorize_any(self, place_z(values), size(values), mpk_z, stat)
    end subroutine factorize_z

    ! ---- solve ---------------------------------------------------------------------------------------

    subroutine solve_any(self, b, rows, columns, scalar, stat)
        class(metapack_solver), intent(inout) :: self
        type(c_ptr), intent(in) :: b
        integer, intent(in) :: rows, columns
        integer(c_int), intent(in) :: scalar
        integer, intent(out), optional :: stat
        integer(c_int) :: status
        type(solve_info) :: info
        status = not_asked
        if (c_associated(self%factor) .and. rows == self%n .and. scalar == self%scalar) then
            status = mpk_solve_sized(c_sizeof(info), self%context, self%factor, int(columns, c_int32_t), b, &
                                     int(rows, c_int64_t), b, int(rows, c_int64_t), given(self), info)
            if (status >= 0) then
                self%iterations = info%iterations
                self%backward_error = info%componentwise
            end if
        end if
        call tell(self, status, 'solve', stat)
    end subroutine solve_any

    subroutine solve_d(self, b, stat)
        class(metapack_solver), intent(inout) :: self
        real(real64), intent(inout), contiguous, target :: b(:)
        integer, intent(out), optional :: stat
        call solve_any(self, place_d(b), size(b), 1, mpk_d, stat)
    end subroutine solve_d

    subroutine solve_z(self, b, stat)
        class(metapack_solver), intent(inout) :: self
        complex(real64), intent(inout), contiguous, target :: b(:)
        integer, intent(out), optional :: stat
        call solve_any(self, place_z(b), size(b), 1, mpk_z, stat)
    end subroutine solve_z

    subroutine solve_d_many(self, b, stat)
        class(metapack_solver), intent(inout) :: self
        real(real64), intent(inout), contiguous, target :: b(:, :)
        integer, intent(out), optional :: stat
        type(c_ptr) :: place
        place = c_null_ptr
        if (size(b) > 0) place = c_loc(b(1, 1))
        call solve_any(self, place, size(b, 1), size(b, 2), mpk_d, stat)
    end subroutine solve_d_many

    subroutine solve_z_many(self, b, stat)
        class(metapack_solver), intent(inout) :: self
        complex(real64), intent(inout), contiguous, target :: b(:, :)
        integer, intent(out), optional :: stat
        type(c_ptr) :: place
        place = c_null_ptr
        if (size(b) > 0) place = c_loc(b(1, 1))
        call solve_any(self, place, size(b, 1), size(b, 2), mpk_z, stat)
    end subroutine solve_z_many

    ! ---- what a factor tells -------------------------------------------------------------------------

    subroutine solver_inertia(self, positive, negative, zero, stat)
        class(metapack_solver), intent(inout) :: self
        integer, intent(out) :: positive, negative, zero
        integer, intent(out), optional :: stat
        integer(c_int64_t), target :: counts(3)
        integer(c_int) :: status
        counts = 0
        status = not_asked
        if (c_associated(self%factor)) &
            status = mpk_get(self%context, self%factor, get_inertia, c_loc(counts), c_sizeof(counts))
        positive = int(counts(1))
        negative = int(counts(2))
        zero = int(counts(3))
        call tell(self, status, 'inertia', stat)
    end subroutine solver_inertia

    function solver_log_determinant(self, sign) result(log_det)
        class(metapack_solver), intent(inout) :: self
        complex(real64), intent(out), optional :: sign
        real(real64) :: log_det
        real(c_double), target :: found(3)
        integer(c_int) :: status
        found = [0, 1, 0]
        status = not_asked
        if (c_associated(self%factor)) &
            status = mpk_get(self%context, self%factor, get_logdet, c_loc(found), c_sizeof(found))
        call tell(self, status, 'log_determinant')
        log_det = found(1)
        if (present(sign)) sign = cmplx(found(2), found(3), real64)
    end function solver_log_determinant

    subroutine inverse_diagonal_any(self, d, entries, scalar, bytes, stat)
        class(metapack_solver), intent(inout) :: self
        type(c_ptr), intent(in) :: d
        integer, intent(in) :: entries, bytes
        integer(c_int), intent(in) :: scalar
        integer, intent(out), optional :: stat
        integer(c_int) :: status
        status = not_asked
        if (c_associated(self%factor) .and. entries == self%n .and. scalar == self%scalar) &
            status = mpk_selected_inverse_sized(0_c_size_t, self%context, self%factor, select_diagonal, d, &
                                                int(entries, c_size_t) * int(bytes, c_size_t), given(self), c_null_ptr)
        call tell(self, status, 'inverse_diagonal', stat)
    end subroutine inverse_diagonal_any

    subroutine inverse_diagonal_d(self, d, stat)
        class(metapack_solver), intent(inout) :: self
        real(real64), intent(out), contiguous, target :: d(:)
        integer, intent(out), optional :: stat
        call inverse_diagonal_any(self, place_d(d), size(d), mpk_d, 8, stat)
    end subroutine inverse_diagonal_d

    subroutine inverse_diagonal_z(self, d, stat)
        class(metapack_solver), intent(inout) :: self
        complex(real64), intent(out), contiguous, target :: d(:)
        integer, intent(out), optional :: stat
        call inverse_diagonal_any(self, place_z(d), size(d), mpk_z, 16, stat)
    end subroutine inverse_diagonal_z
end module metapack
