PATTERN OF THE PATH 1-2-3-4; INERTIA 2/2/0                              mpktiny2
             2             1             1             0
psa                       4             4             3             0
(13I6)          (13I6)
     1     2     3     4     4
     2     3     4
