Three unknowns                                                          KEY     
             4             1             1             2
rsa            3  3  5  0
(4I1)(5I1)(2P,5F3.1)
1356
12233
 40 10  0 20 50
