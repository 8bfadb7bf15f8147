# SPDX-License-Identifier: MIT
# Talus for Nix, of this source tree: nix-build packages/nix
{ pkgs ? import <nixpkgs> { } }:

let
  root = ../..;
  header = builtins.readFile (root + "/include/talus/talus.h");
  version = builtins.head (builtins.match ".*define TALUS_VERSION \"([^\"]+)\".*" header);
in
pkgs.stdenv.mkDerivation {
  pname = "talus";
  inherit version;
  src = pkgs.lib.cleanSource root;
  nativeBuildInputs = [ pkgs.cmake pkgs.ninja pkgs.python3 ];
  buildInputs = [
    pkgs.fmt
    pkgs.cli11
    pkgs.nlohmann_json
    pkgs.elfutils
    pkgs.zlib
    pkgs.ncurses
    pkgs.libevent
  ];
  cmakeFlags = [ "-DTALUS_TESTS=OFF" "-DTALUS_BENCH=OFF" ];
  doInstallCheck = true;
  installCheckPhase = ''
    $out/bin/talus run -- true
  '';
  meta = {
    description = "A memory allocator for Linux that is fast and small at once";
    license = pkgs.lib.licenses.mit;
    platforms = [ "x86_64-linux" "aarch64-linux" ];
    mainProgram = "talus";
  };
}
